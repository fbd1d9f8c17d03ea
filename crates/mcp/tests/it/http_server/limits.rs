//! Every limit, hit.

use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::Implementation;
use callgate_mcp::router::Router;
use callgate_mcp::transport::http::server::{
    Auth, BearerToken, HttpServerConfig, HttpServerLimits, Listener,
};
use tokio::time::{Instant, sleep};

use super::peer::Peer;
use super::post::Post;
use super::subject::{HUGE, Subject};

async fn start(limits: HttpServerLimits) -> Subject {
    let mut config = HttpServerConfig::default();
    config.limits = limits;
    Subject::start(config).await
}

/// How many whole seconds pass until the server closes the connection without a word.
async fn seconds_until_closed(peer: &mut Peer) -> u64 {
    let start = Instant::now();
    assert!(peer.closed().await);
    start.elapsed().as_secs()
}

#[tokio::test(start_paused = true)]
async fn a_thousand_slow_heads_are_closed_within_fifteen_seconds() {
    allow_many_files();
    let mut limits = HttpServerLimits::default();
    limits.connections_per_peer = 2000;
    limits.unauthenticated_connections = 2000;
    let subject = start(limits).await;
    let mut peers = Vec::new();
    for _ in 0..1000 {
        let mut peer = subject.connect().await;
        peer.send("POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
            .await;
        peers.push((peer, Instant::now()));
    }
    for (mut peer, opened) in peers {
        assert!(peer.closed().await);
        let seconds = opened.elapsed().as_secs();
        assert!((10..=15).contains(&seconds), "{seconds}");
    }
    assert_eq!(subject.ask(&Post::tool("echo")).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_head_that_trickles_in_is_closed_all_the_same() {
    let subject = start(HttpServerLimits::default()).await;
    let mut peer = subject.connect().await;
    let opened = Instant::now();
    peer.send("POST /mcp HTTP/1.1\r\n").await;
    for _ in 0..9 {
        sleep(Duration::from_secs(1)).await;
        peer.send("X-Slow: yes\r\n").await;
    }
    assert!(peer.closed().await);
    assert!((10..=12).contains(&opened.elapsed().as_secs()));
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_request_is_closed() {
    let subject = start(HttpServerLimits::default()).await;
    let mut peer = subject.connect().await;
    assert!((10..=12).contains(&seconds_until_closed(&mut peer).await));
}

#[tokio::test(start_paused = true)]
async fn a_connection_may_rest_for_a_minute() {
    let subject = start(HttpServerLimits::default()).await;
    let mut peer = subject.connect().await;
    for rest in [0, 8, 55] {
        sleep(Duration::from_secs(rest)).await;
        peer.send(Post::tool("echo").bytes(subject.address)).await;
        assert_eq!(peer.answer().await.status, 200);
    }
    assert!((60..=62).contains(&seconds_until_closed(&mut peer).await));
}

#[tokio::test(start_paused = true)]
async fn a_call_may_take_longer_than_any_rest() {
    let subject = start(HttpServerLimits::default()).await;
    let mut peer = subject.connect().await;
    let request = Post::tool("wait").set("accept", "application/json");
    peer.send(request.bytes(subject.address)).await;
    sleep(Duration::from_secs(1000)).await;
    subject.seen.release.notify_one();
    assert_eq!(peer.answer().await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_body_has_thirty_seconds() {
    let subject = start(HttpServerLimits::default()).await;
    let mut peer = subject.connect().await;
    let request = Post::tool("echo").bytes(subject.address);
    let (most, last) = request.split_at(request.len() - 1);
    let start = Instant::now();
    peer.send(most).await;
    let answer = peer.answer().await;
    assert_eq!(
        (answer.status, answer.header("connection")),
        (408, Some("close"))
    );
    assert_eq!(start.elapsed().as_secs(), 30);
    assert!(peer.closed().await);

    let mut peer = subject.connect().await;
    peer.send(most).await;
    sleep(Duration::from_secs(29)).await;
    peer.send(last).await;
    assert_eq!(peer.answer().await.status, 200);
    assert_eq!(subject.seen.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_is_given_up() {
    let subject = start(HttpServerLimits::default()).await;
    let mut peer = subject.connect().await;
    peer.send(Post::tool("flood").bytes(subject.address)).await;
    let start = Instant::now();
    subject.cancelled().await;
    assert!((60..=62).contains(&start.elapsed().as_secs()));
    // The socket took some; beyond that the call had to wait.
    assert!(subject.seen.notifications() < 500_000);
}

#[tokio::test]
async fn a_body_has_a_size() {
    let request = Post::tool("echo");
    let size = request
        .bytes_without_host()
        .split_once("\r\n\r\n")
        .unwrap()
        .1
        .len();
    for (body_bytes, status) in [(size, 200), (size - 1, 413)] {
        let mut limits = HttpServerLimits::default();
        limits.body_bytes = body_bytes;
        let subject = start(limits).await;
        assert_eq!(subject.ask(&request).await.status, status);
        let chunked = request.clone().in_chunks_of(50);
        assert_eq!(subject.ask(&chunked).await.status, status);
    }
}

#[tokio::test]
async fn all_bodies_together_have_a_size() {
    let request = Post::tool("echo");
    let chunked = request.clone().in_chunks_of(50);
    let mut limits = HttpServerLimits::default();
    limits.bodies_bytes = 100;
    let subject = start(limits).await;
    assert_eq!(subject.ask(&request).await.status, 200);
    let refused = subject.ask(&chunked).await;
    assert_eq!(
        (refused.status, refused.body.as_str()),
        (
            503,
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"too many large requests at once; try again"}}"#
        )
    );
    let subject = start(HttpServerLimits::default()).await;
    assert_eq!(subject.ask(&chunked).await.status, 200);
}

#[tokio::test]
async fn a_body_that_announces_too_much_is_refused_before_it_is_sent() {
    let subject = start(HttpServerLimits::default()).await;
    let mut peer = subject.connect().await;
    let request = Post::message("").set("content-length", "4194305");
    peer.send(request.bytes(subject.address)).await;
    assert_eq!(peer.answer().await.status, 413);
}

#[tokio::test]
async fn a_refusal_is_read_even_by_a_peer_that_sends_on() {
    let subject = start(HttpServerLimits::default()).await;
    let mut peer = subject.connect().await;
    let request = Post::message("").set("content-length", "4194305");
    peer.send(request.bytes(subject.address)).await;
    peer.send(vec![b' '; 100_000]).await;
    assert_eq!(peer.answer().await.status, 413);
    assert!(peer.closed().await);
}

#[tokio::test]
async fn a_head_has_a_size_and_a_number_of_fields() {
    let subject = start(HttpServerLimits::default()).await;
    let padded = |length: usize| Post::tool("echo").set("x", &"x".repeat(length));
    assert_eq!(subject.ask(&padded(32_000)).await.status, 200);
    assert_eq!(subject.ask(&padded(33_000)).await.status, 431);

    // With the five of every call, the host and the length.
    let fields = |count: usize| {
        (7..count).fold(Post::tool("echo"), |request, number| {
            request.and(&format!("x-{number}"), "y")
        })
    };
    assert_eq!(subject.ask(&fields(100)).await.status, 200);
    assert_eq!(subject.ask(&fields(101)).await.status, 431);
}

#[tokio::test]
async fn a_message_has_a_depth() {
    let mut limits = HttpServerLimits::default();
    limits.json_depth = 4;
    let subject = start(limits).await;
    let nested = |value: &str| Post::request("tools/list", &format!(r#""a":{value}"#));
    assert_eq!(subject.ask(&nested("[[]]")).await.status, 200);
    assert_eq!(subject.ask(&nested("[[[]]]")).await.status, 400);
}

#[tokio::test]
async fn a_message_has_so_many_values() {
    let mut limits = HttpServerLimits::default();
    limits.json_values = 20;
    let subject = start(limits).await;
    let list = |values: &str| Post::request("tools/list", &format!(r#""a":[{values}]"#));
    assert_eq!(subject.ask(&list("1,2,3")).await.status, 200);
    let refused = subject.ask(&list(&["1"; 20].join(","))).await;
    assert_eq!(refused.status, 400);
    assert_eq!(
        refused.body,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"message has more than 20 values"}}"#
    );
}

#[tokio::test]
async fn silent_connections_give_way_to_new_ones() {
    let limits: [fn(&mut HttpServerLimits) -> &mut usize; 3] = [
        |limits| &mut limits.connections,
        |limits| &mut limits.connections_per_peer,
        |limits| &mut limits.unauthenticated_connections,
    ];
    for (number, limit) in limits.into_iter().enumerate() {
        let mut limits = HttpServerLimits::default();
        *limit(&mut limits) = 3;
        let subject = start(limits).await;
        let request = Post::tool("echo").bytes(subject.address);
        let mut used = subject.connect().await;
        used.send(&request).await;
        assert_eq!(used.answer().await.status, 200);
        let mut silent = Vec::new();
        for _ in 0..10 {
            silent.push(subject.connect().await);
        }
        let answer = subject.ask(&Post::tool("echo")).await;
        assert_eq!(answer.status, 200, "limit {number}");
        assert!(silent[0].closed().await, "the oldest gives way first");
        used.send(&request).await;
        assert_eq!(used.answer().await.status, 200, "limit {number}");
    }
}

#[tokio::test]
async fn a_request_that_is_not_authenticated_makes_no_connection_safe() {
    let mut config = HttpServerConfig::default();
    config.auth = Auth::Bearer(BearerToken::new("secret", "ann"));
    config.limits.connections_per_peer = 2;
    let subject = Subject::start(config).await;
    let request = Post::tool("echo");
    let mut stranger = subject.connect().await;
    stranger.send(request.bytes(subject.address)).await;
    assert_eq!(stranger.answer().await.status, 401);
    let known = request.set("authorization", "Bearer secret");
    // Both stay open, so that the second one needs the place of the stranger.
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut peer = subject.connect().await;
        peer.send(known.bytes(subject.address)).await;
        assert_eq!(peer.answer().await.status, 200);
        open.push(peer);
    }
    assert!(stranger.closed().await);
}

#[tokio::test]
async fn a_client_that_is_refused_reads_why_although_it_sends_on() {
    let mut limits = HttpServerLimits::default();
    limits.connections = 1;
    let subject = start(limits).await;
    let request = Post::tool("echo").bytes(subject.address);
    let mut first = subject.connect().await;
    first.send(&request).await;
    assert_eq!(first.answer().await.status, 200);
    let mut refused = subject.connect().await;
    for byte in request.as_bytes().chunks(50) {
        refused.send(byte).await;
        // Lets the server read: a closed connection would be reset here.
        tokio::task::yield_now().await;
    }
    let answer = refused.answer().await;
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (503, Some("1"))
    );
    assert!(refused.closed().await);
}

#[tokio::test(start_paused = true)]
async fn connections_with_unfinished_bodies_give_way_to_new_ones_after_a_second() {
    let limits: [fn(&mut HttpServerLimits) -> &mut usize; 2] = [
        |limits| &mut limits.connections,
        |limits| &mut limits.connections_per_peer,
    ];
    for limit in limits {
        let mut limits = HttpServerLimits::default();
        *limit(&mut limits) = 3;
        let subject = start(limits).await;
        let whole = Post::tool("wait").bytes(subject.address);
        let mut busy = subject.connect().await;
        busy.send(&whole).await;
        subject.called().await;
        let mut unfinished = Vec::new();
        for _ in 0..2 {
            let mut peer = subject.connect().await;
            peer.send(&whole[..whole.len() - 1]).await;
            unfinished.push(peer);
            // The server has read the request when it waits for the rest, and time stands still until then.
            sleep(Duration::from_millis(10)).await;
        }
        let refused = subject.ask(&Post::tool("echo")).await;
        assert_eq!(
            (refused.status, refused.header("retry-after")),
            (503, Some("1"))
        );
        sleep(Duration::from_secs(1)).await;
        assert_eq!(subject.ask(&Post::tool("echo")).await.status, 200);
        assert!(unfinished[0].closed().await, "the oldest gives way first");
        // A request that is being answered keeps its place, and so does the body that came later.
        subject.seen.release.notify_waiters();
        assert_eq!(busy.answer().await.status, 200);
    }
}

/// A server with room for one unread answer.
async fn start_with_little_room() -> Subject {
    let mut limits = HttpServerLimits::default();
    limits.unsent_bytes_per_caller = 1;
    start(limits).await
}

#[tokio::test]
async fn a_caller_with_unread_answers_is_refused_until_it_reads_them() {
    let subject = start_with_little_room().await;
    for accept in ["application/json", "text/event-stream"] {
        let huge = Post::tool("huge").set("accept", accept);
        let mut lazy = subject.connect().await;
        lazy.send(huge.bytes(subject.address)).await;
        assert_eq!(lazy.head().await.status, 200);
        let refused = subject.ask(&Post::tool("echo")).await;
        assert_eq!(
            (
                refused.status,
                refused.header("retry-after"),
                refused.body.as_str()
            ),
            (
                503,
                Some("1"),
                r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"too many answers are unread; read them, then try again"}}"#
            )
        );
        // A connection that is closed frees its answer too.
        drop(lazy);
        while subject.ask(&Post::tool("echo")).await.status != 200 {}
    }
}

#[tokio::test]
async fn an_answer_that_is_read_makes_room() {
    let subject = start_with_little_room().await;
    for _ in 0..3 {
        let answer = subject.ask(&Post::tool("huge")).await;
        assert_eq!((answer.status, answer.body.len() > HUGE), (200, true));
    }
}

#[tokio::test]
async fn the_answer_to_a_call_that_ends_without_room_is_dropped() {
    let subject = start_with_little_room().await;
    let request = Post::tool("wait, huge").set("accept", "application/json");
    let mut peers = [subject.connect().await, subject.connect().await];
    for peer in &mut peers {
        peer.send(request.bytes(subject.address)).await;
    }
    while subject.seen.calls() < 2 {
        tokio::task::yield_now().await;
    }
    subject.seen.release.notify_waiters();
    let [one, other] = &mut peers;
    let (first, second) = (one.head().await, other.head().await);
    let refused = if first.status == 200 { second } else { first };
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (503, Some("1"))
    );
}

#[tokio::test]
async fn there_are_so_many_connections_and_no_more() {
    let mut limits = HttpServerLimits::default();
    limits.connections = 2;
    let subject = start(limits).await;
    check_third_connection(&subject).await;
}

#[tokio::test]
async fn a_peer_has_so_many_connections_and_no_more() {
    let mut limits = HttpServerLimits::default();
    limits.connections_per_peer = 2;
    let subject = start(limits).await;
    check_third_connection(&subject).await;
}

/// Of three connections the last one is refused, until the first one is closed.
async fn check_third_connection(subject: &Subject) {
    let request = Post::tool("echo").bytes(subject.address);
    let mut first = subject.connect().await;
    first.send(&request).await;
    assert_eq!(first.answer().await.status, 200);
    let mut second = subject.connect().await;
    second.send(&request).await;
    assert_eq!(second.answer().await.status, 200);

    let mut third = subject.connect().await;
    third.send(&request).await;
    assert_eq!(third.answer().await.status, 503);
    assert!(third.closed().await);
    second.send(&request).await;
    assert_eq!(second.answer().await.status, 200);

    first.finish().await;
    assert!(first.closed().await);
    loop {
        // The place is free a moment after the end of the connection was seen.
        let mut fourth = subject.connect().await;
        fourth.send(&request).await;
        match fourth.answer().await.status {
            200 => break,
            status => assert_eq!(status, 503),
        }
    }
}

/// Lets this process have as many open files as it may.
#[cfg(unix)]
pub(crate) fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, raised).unwrap();
}

#[cfg(not(unix))]
pub(crate) fn allow_many_files() {}

#[tokio::test]
async fn a_subscription_beyond_the_limit_says_when_to_try_again() {
    let router = Router::new(Implementation::new("s", "1")).max_subscriptions(0);
    let config = HttpServerConfig::default();
    let server = Listener::bind(([127, 0, 0, 1], 0).into(), Arc::new(router), config);
    let server = server.await.unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(server.run());
    let listen = Post::request("subscriptions/listen", r#""notifications":{}"#);
    let mut peer = Peer::connect(address).await;
    peer.send(listen.bytes(address)).await;
    let answer = peer.answer().await;
    assert_eq!(
        (
            answer.status,
            answer.header("retry-after"),
            answer.body.as_str()
        ),
        (
            429,
            Some("5"),
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":42900,"message":"subscription limit reached: close one, or try again later"}}"#
        )
    );
}
