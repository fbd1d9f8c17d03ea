//! Bytes that two readers of HTTP could read differently, or that no reader should take.

use callgate_mcp::transport::http::server::HttpServerConfig;

use super::post::META;
use super::subject::Subject;

/// One case a line: its name, the statuses that come back, how many calls are made, the bytes.
///
/// In the bytes, `{host}` is the server's authority, `{start}` a request line and a host, `{mcp}`
/// the headers of the protocol, `{body}` the message, `{length}` its length, `{hex}` the same in
/// hexadecimal, `{rest}` the length and the body, `{chunks}` the body in one chunk, `{good}` a
/// whole good request, and `{delete}` and `{get}` the head of one that names a session.
const CASES: &str = include_str!("smuggling.txt");

#[tokio::test]
async fn each_case_gets_its_answer_and_no_call_too_many() {
    let mut surprises = Vec::new();
    let mut count = 0;
    for line in CASES.lines() {
        let Ok([name, statuses, calls, bytes]) =
            <[_; 4]>::try_from(line.splitn(4, '|').map(str::trim).collect::<Vec<_>>())
        else {
            continue;
        };
        count += 1;
        let seen = outcome(bytes).await;
        // Without old clients, their methods are refused before a session is looked for.
        let is_old = bytes.starts_with("{delete}") || bytes.starts_with("{get}");
        let statuses = match cfg!(feature = "legacy") {
            false if is_old => statuses.replace("404", "405"),
            _ => statuses.to_owned(),
        };
        if seen != (statuses, calls.parse().unwrap()) {
            surprises.push((name, seen));
        }
    }
    assert_eq!(surprises, []);
    assert_eq!(count, 119);
}

/// What comes back up to the end of the connection, and how many calls were made.
async fn outcome(bytes: &str) -> (String, usize) {
    let subject = Subject::start(HttpServerConfig::default()).await;
    let mut peer = subject.connect().await;
    peer.send(filled(bytes, &subject.address.to_string())).await;
    peer.finish().await;
    let mut statuses = Vec::new();
    while let Some(answer) = peer.try_answer().await {
        statuses.push(answer.status.to_string());
    }
    if statuses.is_empty() {
        statuses.push("-".to_owned());
    }
    (statuses.join(" "), subject.seen.calls())
}

/// The bytes with their parts filled in and their escapes resolved.
fn filled(bytes: &str, host: &str) -> String {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo",{META}}}}}"#
    );
    let escapes = [
        "\\r", "\\n", "\\t", "\\0", "\\x01", "\\x03", "\\x0b", "\\x16", "\\x20",
    ];
    let escaped = [
        "\r", "\n", "\t", "\0", "\x01", "\x03", "\x0b", "\x16", "\x20",
    ];
    let parts = [
        ("{good}", r"{start}{mcp}{rest}"),
        (
            "{delete}",
            r"DELETE /mcp HTTP/1.1\r\nHost: {host}\r\nMcp-Session-Id: gone\r\n",
        ),
        (
            "{get}",
            r"GET /mcp HTTP/1.1\r\nHost: {host}\r\nAccept: text/event-stream\r\nMcp-Session-Id: gone\r\n",
        ),
        ("{start}", r"POST /mcp HTTP/1.1\r\nHost: {host}\r\n"),
        (
            "{mcp}",
            r"Content-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n",
        ),
        ("{rest}", r"Content-Length: {length}\r\n\r\n{body}"),
        ("{chunks}", r"{hex}\r\n{body}\r\n0\r\n\r\n"),
        ("{host}", host),
        ("{length}", &body.len().to_string()),
        ("{hex}", &format!("{:x}", body.len())),
        ("{body}", &body),
    ];
    let parts = parts.into_iter().chain(escapes.into_iter().zip(escaped));
    parts.fold(bytes.to_owned(), |bytes, (part, text)| {
        bytes.replace(part, text)
    })
}
