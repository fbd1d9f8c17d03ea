use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use serde_json::json;

use super::setup::wait_for;
use crate::fixture::{Home, Ran};
use crate::provider::{Provider, Settings};
use crate::terminal::Terminal;

#[test]
fn a_login_in_another_process_connects_the_server_of_a_gateway() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    home.configure(&json!({ "p": { "url": provider.url } }));
    let _serving = home.serve(&[]);
    let status = || home.json(&["list"])[0]["status"].clone();
    wait_for("the refusal", || status() == "needs_auth");
    wait_for("the record of the state", || {
        let (overview, _) = Terminal::start(&mut home.command(&[])).end();
        overview.contains("needs a login") && overview.contains("callgate auth p")
    });
    let ran = home.run(&["call", "p/whoami"]);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("", Some(3)), "{ran:?}");
    assert!(ran.stderr.contains("callgate auth p"), "{ran:?}");
    let ran = home.log_in("p", &[]);
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    wait_for("the connection", || status() == "connected");
    assert_eq!(
        home.run(&["call", "p/whoami"]),
        Ran::printed("granted: read\n")
    );
    let ran = home.run(&["logout", "p"]);
    assert_eq!(ran.exit, Some(0), "{ran:?}");
}

#[test]
fn headers_of_a_command_are_sent_and_not_shown() {
    let home = Home::new();
    let (url, heads) = recording_server();
    home.configure(&json!({ "s": {
        "url": url,
        "headersHelper": "printf '{\"X-Helper\":\"helper-value\"}'",
    } }));
    let ran = home.run(&["list", "s"]);
    let head = heads.recv().unwrap();
    assert!(head.contains("\r\nx-helper: helper-value\r\n"), "{head}");
    assert_eq!(ran.exit, Some(4), "{ran:?}");
    assert!(!format!("{ran:?}").contains("helper-value"), "{ran:?}");
}

#[test]
fn the_command_of_headers_is_shown_as_it_is_written_when_it_fails() {
    let home = Home::new();
    std::fs::write(home.path().join("key"), "canary-of-file").unwrap();
    home.configure(&json!({ "s": {
        "url": "http://127.0.0.1:9/mcp",
        "headersHelper": "exit 3; ${OUR_VARIABLE} {file:~/key}",
    } }));
    for args in [
        &["list"][..],
        &["list", "s"],
        &["call", "s/x"],
        &["debug", "s"],
    ] {
        let mut command = home.command(args);
        command.env("OUR_VARIABLE", "canary-of-variable");
        let ran = Ran::from(command.output().unwrap());
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!said.contains("canary"), "{args:?}: {said}");
        let written = "`exit 3; ${OUR_VARIABLE} {file:~/key}`, failed";
        assert!(said.contains(written), "{args:?}: {said}");
    }
}

#[test]
fn the_command_of_the_headers_runs_again_when_they_are_refused() {
    let home = Home::new();
    let (url, heads) = server("HTTP/1.1 401 Unauthorized");
    let helper = "echo x >> runs; printf '{\"Authorization\":\"Bearer run-%s\"}' $(grep -c x runs)";
    let definition = json!({ "url": url, "headersHelper": helper });
    home.configure(&json!({ "s": definition }));
    let ran = home.run(&["list", "s"]);
    for expect in ["bearer run-1\r", "bearer run-2\r"] {
        let head = heads.try_recv().unwrap();
        assert!(head.contains(expect), "{head}");
    }
    assert_eq!(ran.exit, Some(4), "{ran:?}");
    assert!(ran.stderr.contains("`headersHelper`"), "{ran:?}");
    assert!(!ran.stderr.contains("callgate auth"), "{ran:?}");
}

/// A web server that tells the head of each request, and closes the connection.
fn recording_server() -> (String, mpsc::Receiver<String>) {
    server("HTTP/1.1 500 Internal Server Error")
}

/// The same with another status.
fn server(status: &'static str) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (send, heads) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            let mut bytes = [0; 4096];
            while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                let read = stream.read(&mut bytes).unwrap_or(0);
                if read == 0 {
                    break;
                }
                head.extend_from_slice(&bytes[..read]);
            }
            let _ = send.send(String::from_utf8_lossy(&head).to_lowercase());
            let rest = "content-length: 0\r\nconnection: close\r\n\r\n";
            let _ = stream.write_all(format!("{status}\r\n{rest}").as_bytes());
        }
    });
    (url, heads)
}

#[test]
fn a_command_that_ends_while_a_server_connects_keeps_the_token_of_its_refresh() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    home.configure(&json!({ "p": { "url": provider.url } }));
    home.log_in(&provider.url, &[]);
    let serve = ["serve", "--listen", "127.0.0.1:0", "--no-workspace"];
    // Without a signal, the input ends.
    for (args, signal) in [
        (&["call", "p/whoami"][..], Some("-INT")),
        (&["call", "p/whoami"], Some("-TERM")),
        (&["list", "p"], Some("-INT")),
        (&["list", "--refresh"], Some("-INT")),
        (&["inspect", "p"], Some("-INT")),
        (&["prompt", "p:x"], Some("-INT")),
        (&["read", "mcp://p/x"], Some("-INT")),
        (&["doctor"], Some("-INT")),
        (&serve, Some("-TERM")),
        (&["serve", "--stdio", "--no-workspace"], None),
    ] {
        provider.events();
        home.edit_login(&provider.url, |login| {
            login["tokens"]["expiresAt"] = 1.into();
        });
        provider.end_access_tokens();
        provider.keep_waiting(true);
        let mut command = home.command(args);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        provider.wait_for_held_request();
        let input = child.stdin.take();
        match signal {
            Some(signal) => {
                let pid = child.id().to_string();
                let sent = Command::new("kill").args([signal, &pid]).status();
                assert!(sent.unwrap().success());
            }
            None => drop(input),
        }
        provider.keep_waiting(false);
        // A process that a signal kills has no exit code.
        let exit = child.wait().unwrap().code();
        assert!(exit.is_some(), "{args:?} {signal:?}");
        assert_eq!(provider.events(), ["refresh_token of registered"]);

        provider.end_access_tokens();
        let ran = home.run(&["call", "p/whoami"]);
        assert_eq!(ran, Ran::printed("granted: read\n"), "{args:?} {signal:?}");
    }
}
