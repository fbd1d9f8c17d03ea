//! How sessions begin and end, whose they are and how many.

use std::time::Duration;

use callgate_mcp::SessionLimits;
use callgate_mcp::transport::http::server::{Auth, BearerToken, HttpServerConfig};
use tokio::time::sleep;

use super::subject::{NEWEST, Subject, call, initialize, response};
use crate::http_server::badges::guarded;
use crate::http_server::post::Post;

const GONE: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"the session has ended or never was: open a new one with `initialize`"}}"#;

#[tokio::test]
async fn a_handshake_opens_a_session_with_a_secret_visible_name() {
    let subject = Subject::start().await;
    let mut names = std::collections::HashSet::new();
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let answer = subject.ask(&initialize(version)).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let body: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(body["id"], 0);
        assert_eq!(body["result"]["protocolVersion"], version);
        assert_eq!(body["result"]["serverInfo"]["name"], "demo");
        let name = answer.header("mcp-session-id").unwrap().to_owned();
        assert!(name.len() >= 22 && name.bytes().all(|byte| byte.is_ascii_graphic()));
        names.insert(name);
    }
    assert_eq!(names.len(), 3);
}

#[tokio::test]
async fn a_handshake_that_fails_opens_nothing() {
    let mut limits = SessionLimits::default();
    limits.sessions = 1;
    let subject = Subject::with_legacy(limits).await;
    let broken = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
    for _ in 0..3 {
        let broken = Post::message(broken);
        let answer = subject.ask(&broken).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("mcp-session-id"), None);
        assert!(answer.body.contains("-32602"), "{}", answer.body);
    }
    subject.open(NEWEST).await;
}

#[tokio::test]
async fn a_session_that_was_deleted_is_gone() {
    let subject = Subject::start().await;
    let client = subject.open(NEWEST).await;
    let mut listening = subject.send(&client.get()).await;
    assert_eq!(listening.head().await.status, 200);
    let answer = subject.ask(&client.delete()).await;
    assert_eq!((answer.status, answer.body.as_str()), (204, ""));
    while listening.chunk().await.is_some() {}

    let answer = subject.ask(&client.call("echo")).await;
    assert_eq!((answer.status, answer.body.as_str()), (404, GONE));
    for request in [client.get(), client.delete(), client.resume("0-0")] {
        assert_eq!(subject.ask(&request).await.status, 404, "{request:?}");
    }
    let nameless = client.delete().without("mcp-session-id");
    assert_eq!(subject.ask(&nameless).await.status, 400);
}

#[tokio::test(start_paused = true)]
async fn a_session_ends_when_it_rests_for_too_long() {
    let subject = Subject::start().await;
    let idle = SessionLimits::default().idle;
    let client = subject.open(NEWEST).await;
    for _ in 0..3 {
        sleep(idle - Duration::from_secs(5)).await;
        let answer = subject.ask(&client.call("echo")).await;
        assert_eq!(answer.body, response(1, "echo"));
    }
    sleep(idle + Duration::from_secs(5)).await;
    assert_eq!(subject.ask(&client.call("echo")).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn an_unused_session_ends_sooner() {
    let subject = Subject::start().await;
    let answer = subject.ask(&initialize(NEWEST)).await;
    let id = answer.header("mcp-session-id").unwrap();
    sleep(SessionLimits::default().unused + Duration::from_secs(5)).await;
    let late = subject
        .open(NEWEST)
        .await
        .call("echo")
        .set("mcp-session-id", id);
    assert_eq!(subject.ask(&late).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn a_session_with_a_call_or_a_stream_does_not_rest() {
    let subject = Subject::start().await;
    let idle = SessionLimits::default().idle;
    let (calling, listening) = (subject.open(NEWEST).await, subject.open(NEWEST).await);
    let call = subject.send(&calling.call("wait")).await;
    subject.begun(1).await;
    drop(call);
    let mut stream = subject.send(&listening.get()).await;
    assert_eq!(stream.head().await.status, 200);
    sleep(idle * 2).await;
    for client in [&calling, &listening] {
        assert_eq!(subject.ask(&client.call("echo")).await.status, 200);
    }
}

#[tokio::test]
async fn a_session_belongs_to_the_caller_that_opened_it() {
    let mut config = HttpServerConfig::default();
    config.auth = Auth::Bearer(BearerToken::new("secret", "ann"));
    let subject = Subject::with(config).await;
    let token = |request: Post| request.set("authorization", "Bearer secret");
    assert_eq!(subject.ask(&initialize(NEWEST)).await.status, 401);
    let answer = subject.ask(&token(initialize(NEWEST))).await;
    let id = answer.header("mcp-session-id").unwrap();
    let call = Post::message(&call(1, "caller"))
        .set("mcp-protocol-version", NEWEST)
        .set("mcp-session-id", id);
    assert_eq!(subject.ask(&call).await.status, 401);
    let answer = subject.ask(&token(call.clone())).await;
    assert_eq!(answer.body, response(1, "Principal('ann')"));
    for method in ["GET", "DELETE"] {
        assert_eq!(subject.ask(&call.clone().by(method)).await.status, 401);
    }
}

#[tokio::test]
async fn a_session_stays_with_its_caller_after_a_token_refresh() {
    let subject = Subject::with(guarded()).await;
    let with = |token: &str, request: &Post| {
        let credentials = format!("Bearer {token}");
        request.clone().set("authorization", &credentials)
    };
    let answer = subject.ask(&with("ann-1", &initialize(NEWEST))).await;
    let id = answer.header("mcp-session-id").unwrap();
    let call = Post::message(&call(1, "caller"))
        .set("mcp-protocol-version", NEWEST)
        .set("mcp-session-id", id);
    for token in ["ann-1", "ann-2"] {
        let answer = subject.ask(&with(token, &call)).await;
        assert_eq!(answer.body, response(1, "Principal('ann')"));
    }
    for method in ["POST", "GET", "DELETE"] {
        for (token, status) in [("bob-1", 404), ("eve-1", 401), ("ann-narrow", 403)] {
            let request = with(token, &call.clone().by(method));
            let seen = subject.ask(&request).await.status;
            assert_eq!(seen, status, "{method} {token}");
        }
    }
    let delete = call.clone().by("DELETE");
    assert_eq!(subject.ask(&with("ann-3", &delete)).await.status, 204);
}

#[tokio::test]
async fn there_are_so_many_sessions_and_no_more() {
    let limits = |sessions, sessions_per_caller| {
        let mut limits = SessionLimits::default();
        limits.sessions = sessions;
        limits.sessions_per_caller = sessions_per_caller;
        limits
    };
    let of_caller = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32000,"message":"session limit of this caller reached: end sessions with DELETE, or retry after the time in Retry-After","data":{"reason":"rate_limited","retryAfterMs":5000}}}"#;
    let of_all = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32000,"message":"session limit of the server reached: retry after the time in Retry-After","data":{"reason":"rate_limited","retryAfterMs":5000}}}"#;
    for (legacy, status, body) in [(limits(9, 2), 429, of_caller), (limits(2, 9), 503, of_all)] {
        let subject = Subject::with_legacy(legacy).await;
        let first = subject.open(NEWEST).await;
        let second = subject.open(NEWEST).await;
        // Sessions whose streams are read do not give way.
        let mut first_stream = subject.send(&first.get()).await;
        assert_eq!(first_stream.head().await.status, 200);
        let mut second_stream = subject.send(&second.get()).await;
        assert_eq!(second_stream.head().await.status, 200);
        let answer = subject.ask(&initialize(NEWEST)).await;
        assert_eq!((answer.status, answer.body.as_str()), (status, body));
        assert_eq!(answer.header("retry-after"), Some("5"));
        // A stream of HTTP+SSE is a session too.
        let stream = first.get().without("mcp-session-id");
        assert_eq!(subject.ask(&stream).await.status, status);

        assert_eq!(subject.ask(&second.call("echo")).await.status, 200);
        assert_eq!(subject.ask(&first.delete()).await.status, 204);
        subject.open(NEWEST).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_session_gives_way_to_a_new_one() {
    let mut limits = SessionLimits::default();
    limits.sessions_per_caller = 2;
    let subject = Subject::with_legacy(limits).await;
    let used = subject.open(NEWEST).await;
    assert_eq!(subject.ask(&used.call("echo")).await.status, 200);
    for _ in 0..10 {
        // Each is opened and never used.
        sleep(Duration::from_secs(6)).await;
        assert_eq!(subject.ask(&initialize(NEWEST)).await.status, 200);
    }
    assert_eq!(subject.ask(&used.call("echo")).await.status, 200);
}

#[tokio::test]
async fn shutting_down_ends_streams_and_lets_calls_finish() {
    let subject = Subject::start().await;
    let client = subject.open(NEWEST).await;
    let mut listening = subject.send(&client.get()).await;
    assert_eq!(listening.head().await.status, 200);
    let mut sse = subject.send(&client.get().without("mcp-session-id")).await;
    assert_eq!(sse.head().await.status, 200);
    let mut calling = subject.send(&client.call("talk")).await;
    subject.begun(1).await;
    let lost = subject.send(&client.call("wait")).await;
    subject.begun(2).await;
    drop(lost);

    subject.shutdown.shutdown();
    while listening.chunk().await.is_some() {}
    while sse.chunk().await.is_some() {}
    subject.seen.release.notify_waiters();
    let answer = calling.answer().await;
    assert!(answer.body.contains("talked"), "{}", answer.body);
}

#[tokio::test]
async fn the_end_of_the_server_cancels_abandoned_calls() {
    let subject = Subject::start().await;
    let client = subject.open(NEWEST).await;
    let lost = subject.send(&client.call("wait")).await;
    subject.begun(1).await;
    drop(lost);
    subject.shutdown.shutdown();
    subject.dropped(1).await;
}
