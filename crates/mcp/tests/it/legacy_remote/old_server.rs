//! What the scripts of old servers share.

use callgate_mcp::transport::http::client::HttpConfig;
use callgate_mcp::upstream::Remote;
use callgate_mcp::wire::{Frame, Limits};
use callgate_mcp::{Call, Caller};

use crate::http_client::peer::{Answer, Peer, Received, call, http, raw};

pub(crate) const INITIALIZED: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{}},"serverInfo":{"name":"old","version":"1"}}"#;

/// Answers like an old server that makes one session, and asks `rest` about other requests.
pub(crate) fn old_server(request: &Received, rest: impl FnOnce(&Received) -> Answer) -> Answer {
    match what(request).as_str() {
        "server/discover" => refused(request),
        "initialize" => opened("session-1", &request.result(INITIALIZED)),
        "GET" => http("405 Method Not Allowed", "text/plain", ""),
        "DELETE" => http("200 OK", "text/plain", ""),
        "response" => accepted(),
        name if name.starts_with("notifications/") => accepted(),
        _ => rest(request),
    }
}

/// What a request is: the method of its message, or what else it may be.
pub(crate) fn what(request: &Received) -> String {
    let (method, _) = request.line.split_once(' ').unwrap();
    match Frame::parse(&request.body, &Limits::default()) {
        Ok(Frame::Request(request)) => request.method.to_string(),
        Ok(Frame::Notification(notification)) => notification.method.to_string(),
        Ok(Frame::Response(_)) => "response".to_owned(),
        Err(_) => method.to_owned(),
    }
}

/// What all requests so far were that the test has not looked at.
pub(crate) fn log(peer: &mut Peer) -> Vec<String> {
    peer.requests().iter().map(what).collect()
}

/// Waits for the next request that is `wanted`; those before it are passed over.
pub(crate) async fn next(peer: &mut Peer, wanted: &str) -> Received {
    loop {
        let request = peer.request().await;
        if what(&request) == wanted {
            return request;
        }
    }
}

pub(crate) fn remote(peer: &Peer) -> Remote {
    Remote::new(&peer.url, HttpConfig::new("peer")).unwrap()
}

/// A response that opens a session.
pub(crate) fn opened(session: &str, message: &str) -> Answer {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: {session}\r\ncontent-length: {}\r\n\r\n",
        message.len()
    );
    Answer::Write((head + message).into_bytes())
}

pub(crate) fn accepted() -> Answer {
    Answer::Write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_vec())
}

/// How most old servers refuse what comes before the handshake.
pub(crate) fn refused(request: &Received) -> Answer {
    http(
        "400 Bad Request",
        "application/json",
        &request.error(-32000),
    )
}

/// A call of the tool `t`.
pub(crate) fn tool_call() -> Call {
    call("tools/call", r#""name":"t","#)
}

/// The same call on behalf of somebody with these capabilities.
pub(crate) fn from(caller: &str, capabilities: &str) -> Call {
    let mut call = tool_call();
    call.cx.caller = Caller::named(caller);
    call.set_params(raw(&format!(
        r#"{{"name":"t","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{capabilities}}}}}"#
    )));
    call
}

/// The result of a call of a tool, as an old server gives it.
pub(crate) const RESULT: &str = r#"{"content":[]}"#;

/// The same result, as the caller gets it.
pub(crate) const COMPLETE: &str = r#"{"content":[],"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"old","version":"1"}}}"#;
