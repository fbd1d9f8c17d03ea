//! Servers that break the rules, one way each.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, Write};
use std::process::{Command, Stdio};

use callgate_mcp::wire::{Frame, Limits, Request};
use rustix::process::{Signal, getpid, kill_process};

pub(crate) fn misbehave(how: &str, rest: &[&str]) {
    match how {
        "complete" => answer_all(),
        "modern" => {
            let id = request();
            println!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"supportedVersions":["2026-07-28"]}}}}"#
            );
            answer_all();
        }
        "modern-once" => {
            let id = request();
            println!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"supportedVersions":["2026-07-28"]}}}}"#
            );
            answer("true");
            eprintln!("my work is done");
            match rest {
                ["kill"] => kill_process(getpid(), Signal::KILL).expect("this process exists"),
                _ => std::process::exit(3),
            }
        }
        "old" => be_old(|| {}),
        "old-and-dies" => be_old(|| {
            eprintln!("what is this?");
            std::process::exit(1);
        }),
        "args" => answer(&format!("{rest:?}")),
        "env" => {
            let mut variables: BTreeMap<_, _> = std::env::vars().collect();
            // Its value is random, and it is there only below a supervisor.
            variables.remove("CALLGATE_TREE");
            answer(&format!("{variables:?}"));
        }
        "cwd" => {
            let directory = std::env::current_dir().expect("a working directory");
            answer(&format!("{directory:?}"));
        }
        "long" => {
            answer(&format!("{:?}", "x".repeat(100_000)));
            answer_all();
        }
        "no-line-break" => {
            let id = request();
            print!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        }
        "loud" => {
            let noise = "noise\n".repeat(100_000);
            std::io::stderr()
                .write_all(noise.as_bytes())
                .expect("standard error is read");
            answer_all();
        }
        "die" => {
            request();
            eprintln!("the disk is full");
            std::process::exit(3);
        }
        "kill-itself" => {
            request();
            kill_process(getpid(), Signal::KILL).expect("this process exists");
        }
        "leave-a-grandchild" => leave_a_grandchild(rest.first().expect("a pipe of signs")),
        "close-output" => {
            request();
            let nothing = File::options().write(true).open("/dev/null");
            rustix::stdio::dup2_stdout(nothing.expect("there is nothing"))
                .expect("standard output can be replaced");
            loop {
                std::thread::park();
            }
        }
        _ => panic!("nobody misbehaves like {how}"),
    }
}

/// Answers like a server that knows nothing before its handshake.
fn be_old(otherwise: fn()) {
    let mut is_open = false;
    loop {
        let request = any_request();
        let id = &request.id;
        match request.method.as_str() {
            "initialize" => {
                is_open = true;
                println!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"old","version":"1"}}}}}}"#
                );
            }
            _ if is_open => {
                println!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"seen":true}}}}"#);
            }
            _ => {
                otherwise();
                println!(
                    r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"what?"}}}}"#
                );
            }
        }
    }
}

/// Exits at the second request, while a process of its own keeps the streams open.
fn leave_a_grandchild(signs: &str) {
    let program = std::env::current_exe().expect("this program has a path");
    Command::new(program)
        .args(["shape", "stubborn", signs])
        .stdin(Stdio::null())
        .spawn()
        .expect("this program runs");
    answer("true");
    request();
    eprintln!("my work is done");
    std::process::exit(3);
}

/// Answers one request with `result` as its only member, which must be JSON.
fn answer(result: &str) {
    let id = request();
    println!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"seen":{result}}}}}"#);
}

fn answer_all() {
    loop {
        answer("true");
    }
}

/// The id of the next request.
fn request() -> String {
    any_request().id.to_string()
}

/// The next request. At the end of the input there is nothing left to do.
fn any_request() -> Request {
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("standard input is text");
        match Frame::parse(&line.into(), &Limits::default()) {
            Ok(Frame::Request(request)) => return request,
            Ok(Frame::Notification(_)) => {}
            other => eprintln!("ignored {other:?}"),
        }
    }
    std::process::exit(0);
}
