//! HTTP+SSE: a stream that carries everything, and a URI beside it that takes messages.

use super::subject::{Subject, call, initialize, logged, response};
use crate::http_server::badges::guarded;
use crate::http_server::peer::Peer;
use crate::http_server::post::Post;

fn open() -> Post {
    Post::message("")
        .by("GET")
        .without("content-type")
        .without("mcp-protocol-version")
        .set("accept", "text/event-stream")
}

/// Opens a stream; also where its messages go.
pub(super) async fn connect(subject: &Subject) -> (Peer, String) {
    let mut peer = subject.send(&open()).await;
    let head = peer.head().await;
    assert_eq!(head.status, 200);
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    assert_eq!(head.header("x-accel-buffering"), Some("no"));
    assert_eq!(head.header("mcp-session-id"), None);
    let first = peer.chunk().await.unwrap();
    let uri = first.strip_prefix("event: endpoint\ndata: ").unwrap();
    let uri = uri.strip_suffix("\n\n").unwrap();
    assert!(uri.starts_with("/mcp?sessionId="), "{uri}");
    (peer, uri.to_owned())
}

pub(super) fn message(text: &str) -> String {
    format!("event: message\ndata: {text}\n\n")
}

pub(super) fn post(uri: &str, body: &str) -> Post {
    Post::message(body).without("mcp-protocol-version").to(uri)
}

pub(super) async fn accepted(subject: &Subject, request: &Post) {
    let answer = subject.ask(request).await;
    assert_eq!((answer.status, answer.body.as_str()), (202, ""));
}

pub(super) async fn shake_hands(subject: &Subject, peer: &mut Peer, uri: &str) {
    accepted(subject, &initialize("2024-11-05").to(uri)).await;
    let result = peer.chunk().await.unwrap();
    assert!(
        result.contains(r#""protocolVersion":"2024-11-05""#),
        "{result}"
    );
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    accepted(subject, &post(uri, ready)).await;
}

#[tokio::test]
async fn everything_comes_on_the_stream() {
    let subject = Subject::start().await;
    let (mut peer, uri) = connect(&subject).await;
    shake_hands(&subject, &mut peer, &uri).await;
    accepted(&subject, &post(&uri, &call(3, "echo"))).await;
    assert_eq!(peer.chunk().await, Some(message(&response(3, "echo"))));
    accepted(&subject, &post(&uri, &call(4, "talk"))).await;
    assert_eq!(peer.chunk().await, Some(message(&logged("one"))));
    subject.seen.release.notify_one();
    let mut rest = String::new();
    while !rest.contains("talked") {
        rest += &peer.chunk().await.unwrap();
    }
    assert_eq!(
        rest,
        message(&logged("two")) + &message(&response(4, "talked"))
    );
}

#[tokio::test]
async fn the_handshake_comes_first_and_once() {
    let subject = Subject::start().await;
    let (mut peer, uri) = connect(&subject).await;
    accepted(&subject, &post(&uri, &call(3, "echo"))).await;
    assert_eq!(
        peer.chunk().await,
        Some(message(
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"the first request is `initialize`"}}"#
        ))
    );
    shake_hands(&subject, &mut peer, &uri).await;
    accepted(&subject, &initialize("2024-11-05").to(&uri)).await;
    assert_eq!(
        peer.chunk().await,
        Some(message(
            r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32600,"message":"the session is open already"}}"#
        ))
    );
}

#[tokio::test]
async fn closing_the_stream_ends_the_session_and_its_calls() {
    let subject = Subject::start().await;
    let (mut peer, uri) = connect(&subject).await;
    shake_hands(&subject, &mut peer, &uri).await;
    accepted(&subject, &post(&uri, &call(3, "wait"))).await;
    subject.begun(1).await;
    drop(peer);
    subject.dropped(1).await;
    assert_eq!(subject.ask(&post(&uri, &call(4, "echo"))).await.status, 404);
}

#[tokio::test]
async fn the_uri_is_no_way_into_anything_else() {
    let subject = Subject::start().await;
    let (mut peer, uri) = connect(&subject).await;
    shake_hands(&subject, &mut peer, &uri).await;
    let id = uri.split_once('=').unwrap().1;
    let by_header = post("/mcp", &call(3, "echo")).set("mcp-session-id", id);
    assert_eq!(subject.ask(&by_header).await.status, 404);
    let delete = by_header.by("DELETE");
    assert_eq!(subject.ask(&delete).await.status, 404);
    for wrong in ["/mcp?sessionId=", "/mcp?sessionId=x", &format!("{uri}x")] {
        let answer = subject.ask(&post(wrong, &call(3, "echo"))).await;
        assert_eq!(answer.status, 404, "{wrong}");
    }
    let client = subject.open("2025-06-18").await;
    let by_query = post(&format!("/mcp?sessionId={}", client.id), &call(3, "echo"));
    assert_eq!(subject.ask(&by_query).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_a_handshake_is_closed() {
    let subject = Subject::start().await;
    let (mut peer, _) = connect(&subject).await;
    let start = tokio::time::Instant::now();
    while peer.chunk().await.is_some() {}
    assert!((60..=62).contains(&start.elapsed().as_secs()));
}

#[tokio::test]
async fn a_stream_is_asked_for_by_name() {
    let subject = Subject::start().await;
    for accept in ["*/*", "text/html, */*;q=0.8", "application/json"] {
        let answer = subject.ask(&open().set("accept", accept)).await;
        assert_eq!(answer.status, 406, "{accept}");
    }
    assert_eq!(subject.ask(&open().without("accept")).await.status, 406);
}

#[tokio::test]
async fn messages_are_taken_from_the_caller_of_the_stream_only() {
    let subject = Subject::with(guarded()).await;
    let with = |token: &str, request: &Post| {
        let credentials = format!("Bearer {token}");
        request.clone().set("authorization", &credentials)
    };
    assert_eq!(subject.ask(&open()).await.status, 401);
    let mut peer = subject.send(&with("ann-1", &open())).await;
    assert_eq!(peer.head().await.status, 200);
    let first = peer.chunk().await.unwrap();
    let uri = first.trim().rsplit(' ').next().unwrap();
    let hello = initialize("2024-11-05").to(uri);
    for (token, status) in [("bob-1", 404), ("eve-1", 401), ("ann-2", 202)] {
        let seen = subject.ask(&with(token, &hello)).await.status;
        assert_eq!(seen, status, "{token}");
    }
}
