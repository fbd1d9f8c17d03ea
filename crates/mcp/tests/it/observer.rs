//! Messages on the wire, as an observer sees them.

use std::sync::{Arc, Mutex};

use callgate_mcp::transport::http::client::{Headers, HttpConfig};
use callgate_mcp::upstream::{LineConfig, MessageObserver, Remote, StreamPair, WireMessage};
use callgate_mcp::wire::Limits;
use callgate_mcp::{Reply, Service};
use tokio::io::{duplex, split};

use crate::http_client::peer::{Peer, call, event, json, result, sse};
use crate::legacy_remote::old_server::{RESULT, old_server, tool_call};
use crate::stdio_fixture::{self, META, RawPeer, soon};

/// An observer that writes each message down as one line.
fn recording() -> (MessageObserver, Arc<Mutex<Vec<String>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let observer = MessageObserver::new(move |message| log.lock().unwrap().push(line(message)));
    (observer, seen)
}

fn line(message: WireMessage<'_>) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).replace(META, "META");
    let joined = |headers: &[(&str, &str)]| {
        let headers = headers.iter();
        let headers = headers.map(|(name, value)| format!(" {name}={value}"));
        headers.collect::<String>()
    };
    match message {
        WireMessage::LineSent(line) => format!("-> {}", text(line)),
        WireMessage::LineReceived(line) => format!("<- {}", text(line)),
        WireMessage::LineSkipped { line, reason } => format!("<- ({reason}) {}", text(line)),
        WireMessage::Stderr(line) => format!("stderr {line}"),
        WireMessage::RequestSent {
            method,
            target,
            headers,
            body,
        } => format!("-> {method} {target}{} {}", joined(headers), text(body)),
        WireMessage::ResponseReceived { status, headers } => {
            format!("<- {status}{}", joined(headers))
        }
        WireMessage::BodyReceived(body) => format!("<- body {}", text(body)),
        WireMessage::EventReceived { event, id, data } => {
            format!("<- event {event:?} {id:?} {}", text(data))
        }
        other => format!("{other:?}"),
    }
}

fn taken(seen: &Mutex<Vec<String>>) -> Vec<String> {
    std::mem::take(&mut seen.lock().unwrap())
}

/// Beginning of each entry, for messages that other tests compare in full.
fn beginnings(seen: &Mutex<Vec<String>>, length: usize) -> Vec<String> {
    let cut = |line: String| line.chars().take(length).collect();
    taken(seen).into_iter().map(cut).collect()
}

#[tokio::test]
async fn lines_are_seen_both_ways_and_so_are_those_that_are_skipped() {
    let (ours, theirs) = duplex(64 * 1024);
    let (reader, writer) = split(ours);
    let (observer, seen) = recording();
    let mut config = LineConfig::default();
    config.limits = Limits::default().with_bytes(300);
    let connection = callgate_mcp::transport::line::ModernConnection::observed(
        "files",
        reader,
        writer,
        config,
        Some(observer),
    );
    let mut peer = RawPeer::new(theirs);
    let params = format!(r#"{{"name":"t","_meta":{META}}}"#);
    let (call, _told) = stdio_fixture::call("tools/call", &params);
    let calling = tokio::spawn(async move { connection.call(call).await });
    peer.line().await.unwrap();
    peer.send("starting up").await;
    peer.send(&"x".repeat(400)).await;
    peer.send(&stdio_fixture::result("1", r#"{"resultType":"complete"}"#))
        .await;
    let reply = soon(calling).await.unwrap();
    assert!(matches!(reply, Ok(Reply::Complete(_))), "{reply:?}");
    let seen = taken(&seen);
    let [sent, skipped, too_long, answer] = seen.as_slice() else {
        panic!("{seen:?}");
    };
    assert!(
        sent.starts_with(
            r#"-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t""#
        ),
        "{sent}"
    );
    assert!(
        skipped.starts_with("<- (") && skipped.ends_with(") starting up"),
        "{skipped}"
    );
    assert_eq!(too_long, "<- (it is longer than 300 bytes) ");
    assert_eq!(
        answer,
        r#"<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}"#
    );
}

#[tokio::test]
async fn an_old_server_on_lines_is_seen_before_translation() {
    let (ours, theirs) = duplex(64 * 1024);
    let (reader, writer) = split(ours);
    let (observer, seen) = recording();
    let config = LineConfig::default();
    let server = StreamPair::observed("old", reader, writer, config, Some(observer));
    let mut peer = RawPeer::new(theirs);
    let params = format!(r#"{{"_meta":{META}}}"#);
    let (call, _told) = stdio_fixture::call("tools/list", &params);
    let calling = tokio::spawn(async move { server.call(call).await });
    peer.line().await.unwrap();
    let refusal = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown"}}"#;
    peer.send(refusal).await;
    peer.line().await.unwrap();
    let about = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}"#;
    peer.send(&stdio_fixture::result("2", about)).await;
    peer.line().await.unwrap();
    peer.line().await.unwrap();
    peer.send(&stdio_fixture::result("3", r#"{"tools":[]}"#))
        .await;
    soon(calling).await.unwrap().unwrap();
    assert_eq!(
        beginnings(&seen, 48),
        [
            r#"-> {"jsonrpc":"2.0","id":1,"method":"server/discover"#,
            r#"<- {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"#,
            r#"-> {"jsonrpc":"2.0","id":2,"method":"initialize","#,
            r#"<- {"jsonrpc":"2.0","id":2,"result":{"protocolVers"#,
            r#"-> {"jsonrpc":"2.0","method":"notifications/initialized"#,
            r#"-> {"jsonrpc":"2.0","id":3,"method":"tools/list","#,
            r#"<- {"jsonrpc":"2.0","id":3,"result":{"tools":[]}}"#,
        ]
        .map(|line| line.chars().take(48).collect::<String>())
    );
}

#[tokio::test]
async fn http_messages_are_seen_without_the_headers_of_the_user() {
    let mut streamed = false;
    let peer = Peer::start(move |request| {
        streamed = !streamed;
        let message = request.result(r#"{"resultType":"complete"}"#);
        match streamed {
            true => sse(&format!("id: 7\nevent: message\n{}", event(&message))),
            false => json(&message),
        }
    })
    .await;
    let (observer, seen) = recording();
    let mut config = HttpConfig::new("peer");
    config.observer = Some(observer);
    config.headers = Headers::default()
        .with("authorization", "Bearer canary-1")
        .and_then(|headers| headers.with("x-api-key", "canary-2"))
        .unwrap();
    let client = peer.client_with(config);
    for _ in 0..2 {
        result(&client, call("tools/list", "")).await;
    }
    let both = "application/json, text/event-stream";
    let head = format!(
        "-> POST /mcp accept={both} content-type=application/json mcp-method=tools/list mcp-protocol-version=2026-07-28 "
    );
    let seen = taken(&seen);
    let heads: Vec<&str> = seen
        .iter()
        .map(|line| line.split('{').next().unwrap())
        .collect();
    assert_eq!(
        heads,
        [
            head.as_str(),
            "<- 200 content-type=text/event-stream",
            r#"<- event Some("message") Some("7") "#,
            head.as_str(),
            "<- 200 content-type=application/json",
            "<- body ",
        ]
    );
    assert!(!seen.concat().contains("canary"), "{seen:?}");
}

#[tokio::test]
async fn an_old_server_at_a_url_is_seen_without_the_id_of_its_session() {
    let peer =
        Peer::start(|request| old_server(request, |request| json(&request.result(RESULT)))).await;
    let (observer, seen) = recording();
    let mut config = HttpConfig::new("peer");
    config.observer = Some(observer);
    let server = Remote::new(&peer.url, config).unwrap();
    result(&server, tool_call()).await;
    server.close().await;
    let seen = taken(&seen);
    let statuses: Vec<&str> = seen
        .iter()
        .filter(|line| !line.starts_with("<- body "))
        .map(|line| line.split(" accept=").next().unwrap())
        .collect();
    assert_eq!(
        statuses,
        [
            "-> POST /mcp",
            "<- 400 content-type=application/json",
            "-> POST /mcp",
            "<- 200 content-type=application/json mcp-session-id=***",
            "-> POST /mcp",
            "<- 202",
            "-> POST /mcp",
            "<- 200 content-type=application/json",
            "-> DELETE /mcp",
            "<- 200 content-type=text/plain",
        ]
    );
    assert!(!seen.concat().contains("session-1"), "{seen:?}");
}
