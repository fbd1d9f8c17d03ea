//! Streams that were cut, and what is kept of them.

use std::time::Duration;

use callgate_mcp::SessionLimits;
use tokio::time::Instant;

use super::subject::{FLOOD, NEWEST, Subject, event, logged, primed, response};

#[tokio::test]
async fn a_stream_that_was_cut_goes_on_where_it_was() {
    let subject = Subject::start().await;
    let client = subject.open(NEWEST).await;
    let mut peer = subject.send(&client.call("talk")).await;
    assert_eq!(peer.head().await.status, 200);
    assert_eq!(peer.chunk().await, Some(primed(1)));
    assert_eq!(peer.chunk().await, Some(event("1-1", &logged("one"))));
    drop(peer);

    // While the call goes on, the stream is live again.
    let mut again = subject.send(&client.resume("1-1")).await;
    let head = again.head().await;
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    subject.seen.release.notify_one();
    let rest = event("1-2", &logged("two")) + &event("1-3", &response(1, "talked"));
    let mut read = String::new();
    while let Some(chunk) = again.chunk().await {
        read += &chunk;
    }
    assert_eq!(read, rest);

    // When it is over, everything is still there, from any point on.
    let whole = event("1-1", &logged("one")) + &rest;
    for (id, expect) in [("1-0", whole.as_str()), ("1-1", &rest), ("1-3", "")] {
        let answer = subject.ask(&client.resume(id)).await;
        assert_eq!((answer.status, answer.body.as_str()), (200, expect), "{id}");
    }
}

#[tokio::test]
async fn messages_without_a_reader_are_replayed_later() {
    let subject = Subject::start().await;
    let client = subject.open(NEWEST).await;
    let mut peer = subject.send(&client.call("talk")).await;
    assert_eq!(peer.head().await.status, 200);
    assert_eq!(peer.chunk().await, Some(primed(1)));
    drop(peer);
    subject.begun(1).await;
    subject.seen.release.notify_one();
    let answer = subject.ask(&client.resume("1-0")).await;
    let expect = [
        event("1-1", &logged("one")),
        event("1-2", &logged("two")),
        event("1-3", &response(1, "talked")),
    ];
    assert_eq!(answer.body, expect.concat());
}

#[tokio::test]
async fn only_the_newest_reader_of_a_stream_goes_on() {
    let subject = Subject::start().await;
    let client = subject.open(NEWEST).await;
    let mut first = subject.send(&client.call("talk")).await;
    assert_eq!(first.head().await.status, 200);
    assert_eq!(first.chunk().await, Some(primed(1)));
    assert_eq!(first.chunk().await, Some(event("1-1", &logged("one"))));
    let mut second = subject.send(&client.resume("1-1")).await;
    assert_eq!(second.head().await.status, 200);
    assert_eq!(first.chunk().await, None);
    subject.seen.release.notify_one();
    let mut read = String::new();
    while let Some(chunk) = second.chunk().await {
        read += &chunk;
    }
    assert_eq!(
        read,
        event("1-2", &logged("two")) + &event("1-3", &response(1, "talked"))
    );
}

#[tokio::test]
async fn an_event_that_is_not_known_is_refused_and_the_session_goes_on() {
    let subject = Subject::start().await;
    let client = subject.open(NEWEST).await;
    let refused = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"header `Last-Event-ID` names no event, or one whose successors are lost"}}"#;
    for id in ["", "x", "7-0", "0-9", "1"] {
        let answer = subject.ask(&client.resume(id)).await;
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (400, refused),
            "{id}"
        );
    }
    assert_eq!(subject.ask(&client.call("echo")).await.status, 200);
}

#[tokio::test]
async fn another_session_has_none_of_the_events() {
    let subject = Subject::start().await;
    let (client, other) = (subject.open(NEWEST).await, subject.open(NEWEST).await);
    subject.seen.release.notify_one();
    assert_eq!(subject.ask(&client.call("talk")).await.status, 200);
    assert_eq!(subject.ask(&client.resume("1-0")).await.status, 200);
    assert_eq!(subject.ask(&other.resume("1-0")).await.status, 400);
}

#[tokio::test]
async fn so_many_bytes_are_kept_and_no_more() {
    let mut limits = SessionLimits::default();
    limits.replay_bytes = 200;
    let subject = Subject::with_legacy(limits).await;
    let client = subject.open(NEWEST).await;
    subject.seen.release.notify_one();
    let answer = subject.ask(&client.call("talk")).await;
    assert_eq!(answer.status, 200);
    // There is room for the last two events.
    assert_eq!(subject.ask(&client.resume("1-0")).await.status, 400);
    let rest = subject.ask(&client.resume("1-1")).await;
    assert_eq!(
        rest.body,
        event("1-2", &logged("two")) + &event("1-3", &response(1, "talked"))
    );
}

#[tokio::test]
async fn a_stream_begins_with_how_long_to_wait_before_coming_back() {
    let mut limits = SessionLimits::default();
    limits.retry = Duration::from_millis(2500);
    let subject = Subject::with_legacy(limits).await;
    let client = subject.open(NEWEST).await;
    let events = client.call("echo").set("accept", "text/event-stream");
    let begin = "id: 1-0\nretry: 2500\ndata: \n\n";
    assert_eq!(
        subject.ask(&events).await.body,
        begin.to_owned() + &event("1-1", &response(1, "echo"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_a_slow_reader_but_not_for_a_lost_one() {
    let subject = Subject::start().await;
    let client = subject.open(NEWEST).await;
    let start = Instant::now();
    let _peer = subject.send(&client.call("flood")).await;
    // What was said fits into no socket: it goes on when the connection is given up.
    let mut said = subject.seen.said.subscribe();
    said.wait_for(|said| *said == FLOOD).await.unwrap();
    assert!((60..=62).contains(&start.elapsed().as_secs()));
}
