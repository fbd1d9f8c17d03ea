//! `doctor`: the mistakes that it finds, through the binary.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

use serde_json::{Value, json};

use crate::fixture::{CALLGATE, Home};

#[test]
fn each_mistake_has_a_code_and_the_next_step() {
    let home = Home::new();
    let (web, lost) = (web_server("200 OK"), web_server("404 Not Found"));
    let nothing = closed_port();
    configure(
        &home,
        &json!({
            "good": { "command": CALLGATE, "args": ["serve", "--stdio", "--no-attach"], "env": { "HOME": home.workspace() } },
            "absent": { "command": "no-such-program-anywhere" },
            "nowhere": { "command": CALLGATE, "cwd": "no-such-directory" },
            "unset": { "command": CALLGATE, "env": { "A": "${NO_SUCH_VARIABLE}", "B": "${NOR_THIS}" } },
            "ends": { "command": "/bin/sh", "args": ["-c", "exit 3"] },
            "closed": { "url": format!("http://{nothing}/mcp") },
            "web": { "url": format!("http://{web}/mcp") },
            "wrong": { "url": format!("http://{lost}/mcp") },
            "off": { "command": "no-such-program-anywhere", "enabled": false },
        }),
    );
    let ran = home.run(&["doctor", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (ran.exit, &report["servers"], &report["connected"]),
        (Some(1), &json!(7), &json!(1)),
        "{report}"
    );
    let found = found(&report);
    let expected = [
        ("unset-variable", "unset"),
        ("unset-variable", "unset"),
        ("missing-program", "absent"),
        ("missing-directory", "nowhere"),
        ("server-failed", "ends"),
        ("unreachable", "closed"),
        ("wrong-url", "web"),
        ("wrong-url", "wrong"),
    ];
    assert_eq!(
        found,
        expected.map(|(code, subject)| (code.to_owned(), subject.to_owned()))
    );
}

#[test]
fn a_page_is_quoted_once() {
    let home = Home::new();
    let url = format!("http://{}/mcp", web_server("404 Not Found"));
    configure(&home, &json!({ "lost": { "url": url } }));
    for args in [&["doctor"][..], &["list"], &["call", "lost/x"]] {
        let ran = home.run(args);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(said.matches("hello").count(), 1, "{args:?}: {said}");
    }
}

#[test]
fn a_login_file_that_is_open_to_others_is_reported_once() {
    use std::os::unix::fs::PermissionsExt;

    let home = Home::new();
    configure(
        &home,
        &json!({ "a": { "url": format!("http://{}/mcp", closed_port()) } }),
    );
    let directory = home.path().join(".local/share/callgate");
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("mcp-auth.json");
    fs::write(&file, "{}").unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let ran = home.run(&["doctor", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let file = file.display().to_string();
    assert_eq!(found(&report), [("open-permissions".to_owned(), file)]);
}

#[test]
fn the_time_to_connect_is_that_of_the_definition() {
    let home = Home::new();
    let server = json!({ "command": "/bin/sh", "args": ["-c", "read a; read b"], "timeout": { "connect": 150 } });
    configure(&home, &json!({ "hangs": server }));
    let ran = home.run(&["doctor", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap().iter();
    let problems: Vec<_> = findings
        .filter(|it| it["subject"] == "hangs")
        .map(|it| &it["problem"])
        .collect();
    assert_eq!(problems, ["no answer within 150ms"]);
}

#[test]
fn a_good_machine_has_no_mistakes() {
    let home = Home::new();
    configure(&home, &json!({}));
    let ran = home.run(&["doctor", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (found(&report), &report["servers"]),
        (Vec::new(), &json!(0))
    );
}

#[test]
fn without_connections_nothing_is_started() {
    let home = Home::new();
    let trace = home.path().join("started");
    let script = format!("touch {}", trace.display());
    configure(
        &home,
        &json!({ "s": { "command": "/bin/sh", "args": ["-c", script] } }),
    );
    let ran = home.run(&["doctor", "--offline"]);
    assert_eq!((ran.exit, ran.stderr.as_str()), (Some(0), ""));
    assert!(
        ran.stdout.ends_with("; 1 server was not contacted\n"),
        "{}",
        ran.stdout
    );
    assert!(!trace.exists());
}

#[test]
fn a_file_with_a_mistake_is_a_finding() {
    let home = Home::new();
    let directory = home.path().join(".config/callgate");
    fs::create_dir_all(&directory).unwrap();
    fs::write(
        directory.join("config.json"),
        "{ \"mcpServers\": { \"a\": { \"comand\": \"x\" } } }",
    )
    .unwrap();
    let ran = home.run(&["doctor"]);
    assert_eq!(ran.exit, Some(1));
    assert!(
        ran.stdout.contains("[invalid-configuration]"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("comand"), "{}", ran.stdout);
}

/// Codes and subjects, without those that depend on the other programs of this machine.
fn found(report: &Value) -> Vec<(String, String)> {
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .map(|it| {
            let text = |name: &str| it[name].as_str().unwrap().to_owned();
            (text("code"), text("subject"))
        })
        .filter(|(code, _)| !code.ends_with("port-in-use"))
        .collect()
}

fn configure(home: &Home, servers: &Value) {
    let directory = home.path().join(".config/callgate");
    fs::create_dir_all(&directory).unwrap();
    let config = json!({ "mcpServers": servers });
    fs::write(directory.join("config.json"), config.to_string()).unwrap();
}

/// An address at which nothing listens.
fn closed_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// A web server that answers every request with a page.
fn web_server(status: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut request = [0; 4096];
                let _ = stream.read(&mut request);
                let page = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello"
                );
                let _ = stream.write_all(page.as_bytes());
            });
        }
    });
    address
}
