//! Event streams: their order, their ends and their cancellation.

use std::time::Duration;

use callgate_mcp::transport::http::server::{HttpServerConfig, HttpServerLimits};
use tokio::time::Instant;

use super::post::Post;
use super::subject::{LARGE, RESULT, Subject};

fn event(message: &str) -> String {
    format!("event: message\ndata: {message}\n\n")
}

fn progress(number: u32) -> String {
    event(&format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progress":{number}}}}}"#
    ))
}

fn result(result: &str) -> String {
    event(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#))
}

#[tokio::test]
async fn sm_s5_notifications_come_before_the_response_and_nothing_after_it() {
    let subject = Subject::start(HttpServerConfig::default()).await;
    let answer = subject.ask(&Post::tool("notify")).await;
    let headers = ["content-type", "cache-control", "x-accel-buffering"]
        .map(|name| answer.header(name).unwrap_or_default());
    assert_eq!(
        headers,
        ["text/event-stream", "no-store, no-transform", "no"]
    );
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    assert_eq!(answer.body, progress(1) + &progress(2) + &result(RESULT));
}

#[tokio::test]
async fn sm_s5_a_request_for_input_is_a_response() {
    let subject = Subject::start(HttpServerConfig::default()).await;
    let events = Post::tool("input").set("accept", "text/event-stream");
    assert_eq!(subject.ask(&events).await.body, result(r#"{"input":1}"#));
}

#[tokio::test]
async fn a_stream_goes_out_while_the_call_goes_on() {
    let subject = Subject::start(HttpServerConfig::default()).await;
    let mut peer = subject.connect().await;
    peer.send(Post::tool("notify, wait").bytes(subject.address))
        .await;
    assert_eq!(peer.head().await.status, 200);
    assert_eq!(peer.chunk().await, Some(progress(1)));
    subject.seen.release.notify_one();
    assert_eq!(peer.chunk().await, Some(progress(2) + &result(RESULT)));
    assert_eq!(peer.chunk().await, None);

    peer.send(Post::tool("echo").bytes(subject.address)).await;
    assert_eq!(peer.answer().await.status, 200);
}

#[tokio::test]
async fn a_client_gets_only_the_form_it_accepts() {
    let subject = Subject::start(HttpServerConfig::default()).await;
    let json = Post::tool("notify").set("accept", "application/json");
    let answer = subject.ask(&json).await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(
        answer.body,
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{RESULT}}}"#)
    );

    let events = Post::tool("echo").set("accept", "text/event-stream");
    let answer = subject.ask(&events).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.body, result(RESULT));

    let neither = Post::tool("echo").set("accept", "text/html");
    assert_eq!(subject.ask(&neither).await.status, 406);
    assert_eq!(subject.seen.calls(), 2);
}

#[tokio::test]
async fn a_subscription_of_a_client_that_takes_no_events_is_refused() {
    let subject = Subject::start(HttpServerConfig::default()).await;
    let json = Post::request("subscriptions/listen", "").set("accept", "application/json");
    let answer = subject.ask(&json).await;
    let expect = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Accept must allow text/event-stream"}}"#;
    assert_eq!((answer.status, answer.body.as_str()), (400, expect));
    assert_eq!(subject.seen.calls(), 0);
}

#[tokio::test]
async fn a_large_result_is_sent_as_it_is_in_both_forms() {
    let subject = Subject::start(HttpServerConfig::default()).await;
    let text = format!("{:?}", "x".repeat(LARGE));
    let message = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{text}}}"#);
    let json = subject.ask(&Post::tool("large")).await;
    assert_eq!(
        json.header("content-length"),
        Some(message.len().to_string().as_str())
    );
    assert!(json.body == message);
    let events = Post::tool("large").set("accept", "text/event-stream");
    assert!(subject.ask(&events).await.body == event(&message));
}

#[tokio::test]
async fn a_result_with_line_breaks_is_one_event() {
    let subject = Subject::start(HttpServerConfig::default()).await;
    let events = Post::tool("lines").set("accept", "text/event-stream");
    assert_eq!(subject.ask(&events).await.body, result("{ \"a\":  1}"));
}

#[tokio::test(start_paused = true)]
async fn sm_s6_a_quiet_call_becomes_a_stream_with_comments() {
    let subject = Subject::start(HttpServerConfig::default()).await;
    let mut peer = subject.connect().await;
    let start = Instant::now();
    peer.send(Post::tool("wait").bytes(subject.address)).await;
    assert_eq!(
        peer.head().await.header("content-type"),
        Some("text/event-stream")
    );
    assert_eq!(start.elapsed().as_secs(), 15);
    for comment in 2..5 {
        assert_eq!(peer.chunk().await.as_deref(), Some(": keep-alive\n\n"));
        assert_eq!(start.elapsed().as_secs(), comment * 15);
    }
    subject.seen.release.notify_one();
    assert_eq!(peer.chunk().await, Some(result(RESULT)));
    assert_eq!(peer.chunk().await, None);
}

#[tokio::test]
async fn sm_s8_a_closed_stream_cancels_the_call() {
    let subject = Subject::start(HttpServerConfig::default()).await;
    let mut peer = subject.connect().await;
    peer.send(Post::tool("notify, wait").bytes(subject.address))
        .await;
    assert_eq!(peer.head().await.status, 200);
    drop(peer);
    subject.cancelled().await;
}

#[tokio::test]
async fn sm_s8_a_closed_connection_cancels_the_call_before_there_is_a_response() {
    for accept in ["application/json", "application/json, text/event-stream"] {
        let subject = Subject::start(HttpServerConfig::default()).await;
        let mut peer = subject.connect().await;
        let request = Post::tool("wait").set("accept", accept);
        peer.send(request.bytes(subject.address)).await;
        subject.called().await;
        drop(peer);
        subject.cancelled().await;
    }
}

#[tokio::test]
async fn a_panic_costs_one_request() {
    let subject = Subject::start(HttpServerConfig::default()).await;
    let mut peer = subject.connect().await;
    peer.send(Post::tool("panic").bytes(subject.address)).await;
    let answer = peer.answer().await;
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (
            200,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the request handler panicked"}}"#
        )
    );
    peer.send(Post::tool("echo").bytes(subject.address)).await;
    assert_eq!(peer.answer().await.status, 200);
}

#[tokio::test]
async fn shutting_down_ends_subscriptions_and_lets_calls_finish() {
    let mut subject = Subject::start(HttpServerConfig::default()).await;
    let mut idle = subject.connect().await;
    let mut listening = subject.connect().await;
    let mut waiting = subject.connect().await;
    idle.send(Post::tool("echo").bytes(subject.address)).await;
    idle.answer().await;
    let listen = Post::request("subscriptions/listen", "");
    listening.send(listen.bytes(subject.address)).await;
    assert_eq!(listening.head().await.status, 200);
    assert_eq!(listening.chunk().await, Some(progress(0)));
    waiting
        .send(Post::tool("wait").bytes(subject.address))
        .await;
    subject.called().await;

    subject.shutdown.shutdown();
    assert_eq!(
        listening.chunk().await,
        Some(result(
            r#"{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":1}}"#
        ))
    );
    assert_eq!(listening.chunk().await, None);
    assert!(listening.closed().await);
    assert!(idle.closed().await);
    subject.cancelled().await;

    subject.seen.release.notify_one();
    let answer = waiting.answer().await;
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(waiting.closed().await);
    (&mut subject.running).await.unwrap();
    assert!(
        tokio::net::TcpStream::connect(subject.address)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn shutting_down_does_not_wait_forever() {
    let mut limits = HttpServerLimits::default();
    limits.drain = Duration::from_millis(50);
    let mut config = HttpServerConfig::default();
    config.limits = limits;
    let mut subject = Subject::start(config).await;
    let mut peer = subject.connect().await;
    peer.send(Post::tool("wait").bytes(subject.address)).await;
    subject.called().await;
    subject.shutdown.shutdown();
    assert!(peer.closed().await);
    subject.cancelled().await;
    (&mut subject.running).await.unwrap();
}
