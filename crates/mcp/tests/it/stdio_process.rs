//! A server on the standard streams of a real process.

use std::fs;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::Duration;

use callgate_mcp::wire::{Frame, Limits};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

use crate::child_fixture::PEER;
use crate::stdio_fixture::{META, request, soon};

fn server(stdin: Stdio, stdout: Stdio) -> Child {
    peer("serve", stdin, stdout)
}

fn peer(how: &str, stdin: Stdio, stdout: Stdio) -> Child {
    Command::new(PEER)
        .arg(how)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the server starts")
}

/// Requests by tools that print, panic and wait, one line each.
fn requests() -> String {
    let methods = ["echo", "print", "panic", "later", "echo"];
    let lines = methods.iter().enumerate();
    lines
        .map(|(id, method)| format!("{}\n", request(&id.to_string(), method)))
        .collect()
}

/// Checks that the output is the answers to [`requests`] and nothing else.
fn check_answers(output: &str) {
    let mut ids: Vec<_> = output
        .lines()
        .map(|line| {
            let frame = Frame::parse(&line.to_owned().into(), &Limits::default());
            let Ok(Frame::Response(response)) = frame else {
                unreachable!("{line}")
            };
            response.id.expect("an id").to_string()
        })
        .collect();
    ids.sort();
    assert_eq!(ids, ["0", "1", "2", "3", "4"]);
}

async fn check_streams(
    mut server: Child,
    mut writer: impl AsyncWrite + Unpin,
    mut reader: impl AsyncRead + Unpin,
) {
    writer
        .write_all(requests().as_bytes())
        .await
        .expect("it reads");
    writer.shutdown().await.expect("it reads");
    drop(writer);
    let mut output = String::new();
    soon(reader.read_to_string(&mut output))
        .await
        .expect("text");
    check_answers(&output);
    check_exit(&mut server).await;
}

/// What tools print goes to standard error, and the server ends in peace.
async fn check_exit(server: &mut Child) {
    let mut errors = String::new();
    let mut stderr = server.stderr.take().expect("it is piped");
    soon(stderr.read_to_string(&mut errors))
        .await
        .expect("text");
    assert!(errors.contains("printed by a tool"), "{errors}");
    assert!(errors.contains("printed by a child"), "{errors}");
    assert!(soon(server.wait()).await.expect("it exits").success());
}

#[tokio::test]
async fn stray_prints_do_not_reach_the_peer_over_pipes() {
    let mut server = server(Stdio::piped(), Stdio::piped());
    let (stdin, stdout) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
    check_streams(server, stdin, stdout).await;
}

#[tokio::test]
async fn stray_prints_do_not_reach_the_peer_over_sockets() {
    let pair = || {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let ours = UnixStream::from_std(ours).unwrap();
        (ours, Stdio::from(OwnedFd::from(theirs)))
    };
    let ((writer, stdin), (reader, stdout)) = (pair(), pair());
    check_streams(server(stdin, stdout), writer, reader).await;
}

#[tokio::test]
async fn stray_prints_do_not_reach_files() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in"), directory.path().join("out"));
    fs::write(&input, requests()).unwrap();
    let stdin = fs::File::open(&input).unwrap();
    let stdout = fs::File::create(&output).unwrap();
    let mut server = server(stdin.into(), stdout.into());
    check_exit(&mut server).await;
    check_answers(&fs::read_to_string(&output).unwrap());
}

#[tokio::test]
async fn a_server_ends_when_its_peer_goes_away() {
    let mut server = server(Stdio::piped(), Stdio::piped());
    let mut stdin = server.stdin.take().unwrap();
    drop(server.stdout.take());
    stdin.write_all(requests().as_bytes()).await.unwrap();
    assert!(soon(server.wait()).await.unwrap().success());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_flood_of_requests_with_unread_answers_stays_small() {
    for method in ["echo", "later"] {
        let mut server = server(Stdio::piped(), Stdio::piped());
        let mut stdin = server.stdin.take().unwrap();
        let line = format!("{}\n", request("1", method));
        let (sent, at) = flood(&mut stdin, &line, 1_000_000).await;
        assert!(sent < 1_000_000, "the server reads on and on");
        let peak = peak_kib(server.id().unwrap());
        assert!(peak < 64 * 1024, "{peak} KiB with {sent} requests read");

        // Whoever starts to read gets an answer to every request.
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let rest = line.into_bytes();
        let finish = async {
            stdin.write_all(&rest[at..]).await.unwrap();
        };
        let read = async {
            for answer in 0..=sent {
                let line = soon(lines.next_line()).await.unwrap();
                assert!(line.is_some(), "{answer} answers to {sent} requests");
            }
        };
        tokio::join!(finish, read);
        drop(stdin);
        assert_eq!(soon(lines.next_line()).await.unwrap(), None);
        assert!(soon(server.wait()).await.unwrap().success());
    }
}

/// Requests that are small for what a careless server makes of them, and how often to send each.
#[cfg(target_os = "linux")]
fn costly_requests() -> Vec<(&'static str, String, usize)> {
    let request = |method: &str, members: &str| {
        let params = format!(r#"{{{members},"_meta":{META}}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
    };
    let add = |arguments: &str| {
        let members = format!(r#""name":"add","arguments":{{"x":{arguments}}}"#);
        request("tools/call", &members)
    };
    let objects = |count: usize| {
        let object = r#"{"a":{"a":{"a":{"a":{}}}}}"#;
        format!("[{}]", vec![object; count].join(","))
    };
    let keys: Vec<_> = (0..300_000).map(|key| format!("\"{key}\":0")).collect();
    let listen = |length: usize| {
        let uris: Vec<_> = (0..1000)
            .map(|uri| format!("\"{uri:0>length$}\""))
            .collect();
        let uris = uris.join(",");
        let members = format!(r#""notifications":{{"resourceSubscriptions":[{uris}]}}"#);
        request("subscriptions/listen", &members)
    };
    let name = "x".repeat(15_000_000);
    vec![
        ("objects", add(&objects(150_000)), 5),
        ("as many objects as may be", add(&objects(9_900)), 20),
        ("keys", add(&format!("{{{}}}", keys.join(","))), 5),
        ("many short names", listen(1), 2000),
        ("many long names", listen(4000), 20),
        (
            "a long name",
            request("tools/call", &format!(r#""name":"{name}""#)),
            5,
        ),
    ]
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_flood_of_costly_requests_stays_small() {
    for (what, request, times) in costly_requests() {
        let mut server = peer("everything", Stdio::piped(), Stdio::piped());
        let mut stdin = server.stdin.take().unwrap();
        let (sent, _) = flood(&mut stdin, &format!("{request}\n"), times).await;
        let peak = peak_kib(server.id().unwrap());
        assert!(peak < 64 * 1024, "{peak} KiB after {sent} times {what}");
    }
}

/// Sends a line again and again, until nobody reads it; how often it was read, and how much of it
/// the next time.
#[cfg(target_os = "linux")]
async fn flood(stdin: &mut ChildStdin, line: &str, times: usize) -> (usize, usize) {
    let (mut sent, mut at) = (0, 0);
    // A write that does not come through means that the server has stopped reading.
    while sent < times
        && let Ok(written) =
            timeout(Duration::from_secs(1), stdin.write(&line.as_bytes()[at..])).await
    {
        at += written.unwrap();
        if at == line.len() {
            (at, sent) = (0, sent + 1);
        }
    }
    (sent, at)
}

#[cfg(target_os = "linux")]
fn peak_kib(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("the system keeps count");
    let number = line.trim().strip_suffix(" kB").expect("in KiB");
    number.parse().expect("a number")
}
