//! `debug`: every message of a connection, through the binary.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::thread;

use serde_json::{Value, json};

use crate::fixture::{CALLGATE, Home, Ran};

/// Cases of a shell server with one tool, which writes to standard error and sends a malformed line.
const ECHO: &str = r#"
    *'"method":"tools/list"'*) result='{"resultType":"complete","tools":[{"name":"echo","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*)
        echo "called" >&2
        echo "not a message"
        result='{"resultType":"complete","content":[]}' ;;
"#;

#[test]
fn every_message_is_shown_and_then_a_summary() {
    let home = Home::new();
    let server = home.shell_server(ECHO);
    let ran = home.run(&["debug", "--stdio", &server, "echo", "a=b"]);
    assert_eq!((ran.exit, ran.stderr.as_str()), (Some(0), ""));
    // Two streams have no order.
    let (stderr, messages): (Vec<String>, Vec<String>) = normal(&ran)
        .lines()
        .map(str::to_owned)
        .partition(|line| line.contains("<- stderr"));
    assert_eq!(stderr, ["T ms <- stderr called"]);
    insta::assert_snapshot!(messages.join("\n"), @r#"
    T ms -> stdin  {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":META}}
    T ms <- stdout {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}
    T ms -> stdin  {"jsonrpc":"2.0","id":2,"method":"server/discover","params":{"_meta":META}}
    T ms <- stdout {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}
    T ms -> stdin  {"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":META}}
    T ms <- stdout {"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}
    T ms -> stdin  {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo","arguments":{"a":"b"},"_meta":META}}
    T ms <- stdout not a message (REASON) not a message
    T ms <- stdout {"jsonrpc":"2.0","id":4,"result":{"resultType":"complete","content":[]}}
    revision:  2026-07-28 (the server answered `server/discover`)
    connected: after T ms
    sent:      4 messages, N bytes
    received:  4 messages, N bytes
    malformed: 1 lines
    "#);
}

#[test]
fn requests_and_responses_are_shown_over_http() {
    let home = Home::new();
    let serving = home.serve(&["--no-auth"]);
    let ran = home.run(&["debug", &serving.url]);
    assert_eq!((ran.exit, ran.stderr.as_str()), (Some(0), ""));
    let heads: Vec<String> = normal(&ran)
        .lines()
        .map(|line| {
            line.split(" {")
                .next()
                .unwrap_or_default()
                .trim_end()
                .to_owned()
        })
        .collect();
    insta::assert_snapshot!(heads.join("\n"), @r"
    T ms -> POST   /mcp [accept: application/json, text/event-stream; content-type: application/json; mcp-method: server/discover; mcp-protocol-version: 2026-07-28]
    T ms <- 200    [content-type: application/json]
    T ms <- body
    T ms -> POST   /mcp [accept: application/json, text/event-stream; content-type: application/json; mcp-method: server/discover; mcp-protocol-version: 2026-07-28]
    T ms <- 200    [content-type: application/json]
    T ms <- body
    T ms -> POST   /mcp [accept: application/json, text/event-stream; content-type: application/json; mcp-method: tools/list; mcp-protocol-version: 2026-07-28]
    T ms <- 200    [content-type: application/json]
    T ms <- body
    revision:  2026-07-28 (the server answered `server/discover`)
    connected: after T ms
    sent:      3 messages, N bytes
    received:  3 messages, N bytes
    malformed: 0 lines
    ");
}

#[test]
fn secrets_are_neither_shown_nor_saved() {
    let home = Home::new();
    fs::write(home.path().join("key"), "canary-of-file").unwrap();
    fs::write(home.path().join("odd key"), "cänary of file").unwrap();
    let script = r#"echo "$1 $VARIABLE $LITERAL" >&2; echo "$1 $VARIABLE" ; exit 3"#;
    let address = echo_server();
    configure(
        &home,
        &json!({
            "program": {
                "command": "/bin/sh",
                "args": ["-c", script, "sh", "--key={file:~/key}", "--pass", "canary-of-option", "canary0123456789012345678"],
                "env": { "VARIABLE": "${OUR_VARIABLE}", "LITERAL": "canary-of-literal" },
            },
            "web": {
                "url": format!("http://{address}/mcp?key=canary-of-query"),
                "headers": { "Authorization": "Bearer canary-of-header", "X-Key": "{file:~/key}" },
            },
            "path": {
                "url": format!("http://{address}/{{file:~/key}}/{{file:~/odd key}}/canary0123456789012345678/mcp?{{file:~/key}}"),
            },
        }),
    );
    for server in ["program", "web", "path"] {
        let file = home.path().join(format!("{server}.jsonl"));
        let saved = file.to_str().unwrap().to_owned();
        let mut command = home.command(&["debug", server, "--full", "--save", &saved]);
        command.env("OUR_VARIABLE", "canary-of-variable");
        let ran = Ran::from(command.output().unwrap());
        assert_eq!(ran.exit, Some(4), "{server}: {ran:?}");
        let transcript = fs::read_to_string(&file).unwrap();
        let all = format!("{}{}{transcript}", ran.stdout, ran.stderr);
        for secret in ["canary", "c%C3%A4nary"] {
            assert!(!all.contains(secret), "{server}: {all}");
        }
        assert!(ran.stdout.contains("***"), "{server}: {all}");
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn a_transcript_begins_with_its_server_and_ends_with_the_summary() {
    let home = Home::new();
    let server = home.shell_server(ECHO);
    let file = home.path().join("saved.jsonl");
    let saved = file.to_str().unwrap();
    let args = [
        "debug",
        "--json",
        "--save",
        saved,
        "--stdio",
        &server,
        "echo",
        "token=abc",
    ];
    let ran = home.run(&args);
    assert_eq!((ran.exit, ran.stderr.as_str()), (Some(0), ""));
    let transcript = fs::read_to_string(&file).unwrap();
    let (first, rest) = transcript.split_once('\n').unwrap();
    assert_eq!(rest, ran.stdout);
    let first: Value = serde_json::from_str(first).unwrap();
    assert_eq!(
        (&first["transcript"], &first["server"]),
        (&json!(1), &json!({ "name": "/bin/sh", "target": server }))
    );
    let entries: Vec<Value> = rest
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let call = entries
        .iter()
        .find(|entry| entry["message"]["method"] == "tools/call")
        .unwrap();
    assert_eq!(
        (
            &call["from"],
            &call["channel"],
            &call["message"]["params"]["arguments"]
        ),
        (
            &json!("client"),
            &json!("stdin"),
            &json!({ "token": "***" })
        )
    );
    assert_eq!(entries.last().unwrap()["summary"]["malformedLines"], 1);

    let again = home.run(&args);
    assert_eq!(
        (
            again.exit,
            again.stdout.as_str(),
            again.stderr.contains("choose another name")
        ),
        (Some(1), "", true),
        "{}",
        again.stderr
    );
}

#[test]
fn a_saved_server_answers_again_without_its_program() {
    let home = Home::new();
    let serving = home.serve(&["--no-auth"]);
    let script = home.shell_server(ECHO);
    for (name, server) in [
        ("http", vec![serving.url.as_str()]),
        ("stdio", vec!["--stdio", &script]),
    ] {
        let file = home.path().join(format!("{name}.jsonl"));
        let saved = file.to_str().unwrap();
        let tool = match name {
            "http" => ["workspace_list", "limit=3"],
            _ => ["echo", "a=b"],
        };
        let record = [vec!["debug", "--save", saved], server, tool.to_vec()].concat();
        let recorded = home.run(&record);
        assert_eq!((recorded.exit, recorded.stderr.as_str()), (Some(0), ""));
        let replay = format!("{CALLGATE} debug --replay {saved}");
        let replayed = home.run(&["debug", "--json", "--stdio", &replay, tool[0], tool[1]]);
        assert_eq!(
            (replayed.exit, replayed.stderr.as_str()),
            (Some(0), ""),
            "{replayed:?}"
        );
        let results = |text: &str| -> Vec<Value> {
            let entries = text
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap());
            let results = entries.map(|mut entry| entry["message"]["result"].take());
            results.filter(|result| !result.is_null()).collect()
        };
        let original = fs::read_to_string(&file).unwrap();
        assert_eq!(results(&replayed.stdout), results(&original), "{name}");
        assert_eq!(results(&original).len(), 4, "{name}");

        let other = home.run(&["debug", "--stdio", &replay, tool[0], "a=c"]);
        assert_eq!(other.exit, Some(4), "{other:?}");
        assert!(
            other
                .stderr
                .contains("where the transcript has `tools/call`"),
            "{other:?}"
        );
    }
}

#[test]
fn a_file_that_is_no_transcript_is_not_replayed() {
    let home = Home::new();
    let file = home.path().join("file");
    let name = file.to_str().unwrap();
    fs::write(&file, "{}").unwrap();
    assert_eq!(
        home.run(&["debug", "--replay", name]),
        Ran::failed(
            1,
            &format!(
                "error: {name} is not a transcript: its first line does not say `\"transcript\":1`\nhint: write one with `callgate debug SERVER --save FILE`\n"
            )
        )
    );
    let large = fs::File::create(&file).unwrap();
    large.set_len(64 * 1024 * 1024 + 1).unwrap();
    assert_eq!(
        home.run(&["debug", "--replay", name]),
        Ran::failed(1, &format!("error: {name} has more than 67108864 bytes\n"))
    );
}

#[test]
fn a_wrong_name_is_answered_with_the_nearest() {
    let home = Home::new();
    let server = home.shell_server(ECHO);
    let ran = home.run(&["debug", "--stdio", &server, "ecko"]);
    assert_eq!(
        (ran.exit, ran.stderr.as_str()),
        (
            Some(5),
            "error: the server has no tool `ecko`\nhint: did you mean `echo`?\n"
        )
    );
    let ran = home.run(&["debug"]);
    assert_eq!(
        ran,
        Ran::failed(
            1,
            "error: no server is given\nhint: name a configured server or a URL, or a command with --stdio\n"
        )
    );
}

/// The output without times, sizes, metadata and the words of the JSON parser.
fn normal(ran: &Ran) -> String {
    let lines = ran.stdout.lines().map(|line| {
        let mut line = line.trim_start().to_owned();
        if let Some((_, rest)) = line.split_once(" ms ")
            && line.starts_with(|c: char| c.is_ascii_digit())
        {
            line = format!("T ms {rest}");
        }
        if let Some(start) = line.strip_suffix(" bytes") {
            let (start, _) = start.rsplit_once(' ').unwrap();
            line = format!("{start} N bytes");
        }
        if line.starts_with("connected: after ") {
            line = "connected: after T ms".to_owned();
        }
        if let Some((start, meta)) = line.split_once("\"_meta\":{") {
            let end = meta.find('}').unwrap();
            // The capabilities are an object of their own.
            let end = end + meta[end..].find("}}}").unwrap() + 1;
            line = format!("{start}\"_meta\":META{}", &meta[end..]);
        }
        if let Some((start, rest)) = line.split_once("not a message (") {
            let (_, rest) = rest.split_once(") not").unwrap();
            line = format!("{start}not a message (REASON) not{rest}");
        }
        line
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn configure(home: &Home, servers: &Value) {
    let directory = home.path().join(".config/callgate");
    fs::create_dir_all(&directory).unwrap();
    let config = json!({ "mcpServers": servers });
    fs::write(directory.join("config.json"), config.to_string()).unwrap();
}

/// A web server that repeats each request in its answer.
fn echo_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut request = [0; 8192];
                let length = stream.read(&mut request).unwrap_or_default();
                let request = String::from_utf8_lossy(&request[..length]).into_owned();
                let answer = format!(
                    "HTTP/1.1 404 Not Found\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{request}",
                    request.len()
                );
                let _ = stream.write_all(answer.as_bytes());
            });
        }
    });
    address
}
