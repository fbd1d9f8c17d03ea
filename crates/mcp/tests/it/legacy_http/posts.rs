//! Requests of old clients and the forms of their responses.

use callgate_mcp::transport::http::server::{HttpServerConfig, HttpServerLimits};
use tokio::time::Instant;

use super::subject::{NEWEST, Subject, call, event, logged, primed, response};
use crate::http_server::limits::allow_many_files;
use crate::http_server::post::Post;

#[tokio::test]
async fn a_response_that_comes_first_is_json_and_all_else_is_events() {
    let subject = Subject::start().await;
    let client = subject.open(NEWEST).await;
    let answer = subject.ask(&client.call("echo")).await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.body, response(1, "echo"));

    subject.seen.release.notify_one();
    let answer = subject.ask(&client.call("talk")).await;
    let headers = ["content-type", "cache-control", "x-accel-buffering"]
        .map(|name| answer.header(name).unwrap_or_default());
    assert_eq!(
        headers,
        ["text/event-stream", "no-store, no-transform", "no"]
    );
    // Streams 0 and 1 were those of `initialized` and `echo`.
    let expect = [
        primed(2),
        event("2-1", &logged("one")),
        event("2-2", &logged("two")),
        event("2-3", &response(1, "talked")),
    ];
    assert_eq!(answer.body, expect.concat());
}

#[tokio::test]
async fn older_clients_get_no_event_without_a_message() {
    let subject = Subject::start().await;
    let client = subject.open("2025-06-18").await;
    subject.seen.release.notify_one();
    let answer = subject.ask(&client.call("talk")).await;
    let expect = [
        event("1-1", &logged("one")),
        event("1-2", &logged("two")),
        event("1-3", &response(1, "talked")),
    ];
    assert_eq!(answer.body, expect.concat());
}

#[tokio::test]
async fn a_client_gets_only_the_form_it_accepts() {
    let subject = Subject::start().await;
    let client = subject.open(NEWEST).await;
    subject.seen.release.notify_one();
    let json = client.call("talk").set("accept", "application/json");
    assert_eq!(subject.ask(&json).await.body, response(1, "talked"));
    let events = client.call("echo").set("accept", "text/event-stream");
    assert_eq!(
        subject.ask(&events).await.body,
        primed(2) + &event("2-1", &response(1, "echo"))
    );
    let large = client.call("large").set("accept", "text/event-stream");
    let text = "x".repeat(100_000);
    assert!(subject.ask(&large).await.body == primed(3) + &event("3-1", &response(1, &text)));
}

#[tokio::test(start_paused = true)]
async fn a_quiet_call_becomes_a_stream_with_comments() {
    for (version, seconds) in [(NEWEST, 1), ("2025-06-18", 15)] {
        let subject = Subject::start().await;
        let client = subject.open(version).await;
        let start = Instant::now();
        let mut peer = subject.send(&client.call("wait")).await;
        let head = peer.head().await;
        assert_eq!(head.header("content-type"), Some("text/event-stream"));
        assert_eq!(start.elapsed().as_secs(), seconds);
        if version == NEWEST {
            assert_eq!(peer.chunk().await, Some(primed(1)));
        }
        let begun = Instant::now();
        for comment in 1..4 {
            assert_eq!(peer.chunk().await.as_deref(), Some(": keep-alive\n\n"));
            assert_eq!(begun.elapsed().as_secs(), comment * 15);
        }
        subject.seen.release.notify_one();
        assert_eq!(
            peer.chunk().await,
            Some(event("1-1", &response(1, "waited")))
        );
        assert_eq!(peer.chunk().await, None);
    }
}

#[tokio::test]
async fn a_thousand_requests_at_once_with_the_same_id_get_their_own_answers() {
    allow_many_files();
    let mut limits = HttpServerLimits::default();
    limits.connections_per_peer = 2000;
    let mut config = HttpServerConfig::default();
    config.limits = limits;
    let subject = Subject::with(config).await;
    let client = subject.open("2025-06-18").await;
    let mut peers = Vec::new();
    for number in 0..1000 {
        let arguments = format!(r#"{{"text":"{number}"}}"#);
        let body = call(1, "say_later").replace("{}", &arguments);
        peers.push(subject.send(&client.post(&body)).await);
    }
    subject.begun(1000).await;
    subject.seen.release.notify_waiters();
    for (number, peer) in peers.iter_mut().enumerate() {
        let answer = peer.answer().await.body;
        // On a slow machine it comes on a stream.
        let expected = response(1, &number.to_string());
        assert!(answer.contains(&expected), "{answer} for {number}");
    }
}

#[tokio::test]
async fn a_question_on_the_stream_is_answered_by_another_post() {
    let subject = Subject::start().await;
    let client = subject.open(NEWEST).await;
    let mut peer = subject.send(&client.call("hello")).await;
    assert_eq!(peer.head().await.status, 200);
    assert_eq!(peer.chunk().await, Some(primed(1)));
    let asked = peer.chunk().await.unwrap();
    let data = asked
        .strip_prefix("id: 1-1\nevent: message\ndata: ")
        .unwrap();
    let question: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "Who?");
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"action":"accept","content":{{"name":"Ann"}}}}}}"#,
        question["id"]
    );
    let accepted = subject.ask(&client.post(&answer)).await;
    assert_eq!((accepted.status, accepted.body.as_str()), (202, ""));
    assert_eq!(
        peer.chunk().await,
        Some(event("1-2", &response(1, "Hello, Ann!")))
    );
    assert_eq!(peer.chunk().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_accepts_no_events_is_asked_nothing_and_knows_at_once() {
    let subject = Subject::start().await;
    let client = subject.open(NEWEST).await;
    let start = Instant::now();
    for tool in ["hello", "roots"] {
        let json = client.call(tool).set("accept", "application/json");
        assert_eq!(
            subject.ask(&json).await.body,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server has a question, and a client that accepts no events cannot be asked"}}"#
        );
    }
    assert_eq!(start.elapsed().as_secs(), 0);
}

#[tokio::test]
async fn a_canceled_request_ends_without_a_response() {
    for accept in ["application/json, text/event-stream", "application/json"] {
        let subject = Subject::start().await;
        let client = subject.open(NEWEST).await;
        let wait = client.call("wait").set("accept", accept);
        let mut peer = subject.send(&wait).await;
        subject.begun(1).await;
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        assert_eq!(subject.ask(&client.post(cancel)).await.status, 202);
        subject.dropped(1).await;
        let answer = peer.answer().await;
        let expect = match accept {
            "application/json" => (202, String::new()),
            _ => (200, primed(1)),
        };
        assert_eq!((answer.status, answer.body), expect);
    }
}

#[tokio::test]
async fn hc_11_losing_a_connection_cancels_nothing_in_a_session() {
    let subject = Subject::start().await;
    let client = subject.open(NEWEST).await;
    let wait = client.call("wait").set("accept", "text/event-stream");
    let mut peer = subject.send(&wait).await;
    assert_eq!(peer.head().await.status, 200);
    assert_eq!(peer.chunk().await, Some(primed(1)));
    subject.begun(1).await;
    drop(peer);
    let mut again = subject.send(&client.resume("1-0")).await;
    assert_eq!(again.head().await.status, 200);
    subject.seen.release.notify_one();
    assert_eq!(
        again.chunk().await,
        Some(event("1-1", &response(1, "waited")))
    );
    assert_eq!(subject.seen.dropped(), 0);

    let peer = subject.send(&client.call("wait")).await;
    subject.begun(2).await;
    drop(peer);
    let delete = subject.ask(&client.delete()).await;
    assert_eq!((delete.status, delete.body.as_str()), (204, ""));
    subject.dropped(1).await;
}

#[tokio::test]
async fn hc_11_losing_a_connection_cancels_where_resumption_is_impossible() {
    let subject = Subject::start().await;
    for (count, accept) in [
        (1, "application/json, text/event-stream"),
        (2, "application/json"),
    ] {
        let alone = Post::message(&call(1, "wait"))
            .set("accept", accept)
            .set("mcp-protocol-version", NEWEST);
        let peer = subject.send(&alone).await;
        subject.begun(count).await;
        drop(peer);
        subject.dropped(count).await;
    }
}
