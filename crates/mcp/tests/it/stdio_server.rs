use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use callgate_mcp::transport::line::{LineConfig, serve};
use callgate_mcp::wire::{Limits, Method, Notification};
use callgate_mcp::{Caller, Error, Reply, Service};
use tokio::io::AsyncWrite;
use tokio::sync::{Notify, Semaphore, mpsc};

use crate::stdio_fixture::{
    META, RawPeer, SendOnDrop, cancelled, complete, json, notification, request, result, service,
    soon,
};

/// Answers at once with the params but for `_meta`, which every request has.
fn echo() -> Arc<dyn Service> {
    service(|call| async move {
        assert_eq!(call.cx.caller, Caller::Local);
        Ok(Reply::Complete(
            call.params().get("say").unwrap_or_else(|| json("{}")),
        ))
    })
}

fn say(id: &str, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"echo","params":{{"say":{text},"_meta":{META}}}}}"#
    )
}

#[tokio::test]
async fn answers_carry_the_id_byte_for_byte_and_come_in_order() {
    let (mut peer, server) = RawPeer::of_server(echo(), LineConfig::default());
    let ids = ["1", r#""a\u0062""#, "-7", "123456789012345678901234567890"];
    for id in ids {
        peer.send(&say(id, r#"{"n":49E-31}"#)).await;
    }
    peer.finish().await;
    let expect: Vec<_> = ids.map(|id| result(id, r#"{"n":49E-31}"#)).into();
    assert_eq!(peer.rest().await, expect);
    soon(server).await.unwrap().unwrap();
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_one_write() {
    let requests: String = (0..16)
        .map(|id| format!("{}\n", say(&id.to_string(), "{}")))
        .collect();
    let writes = Arc::new(AtomicUsize::new(0));
    let writer = CountWrites(writes.clone());
    soon(serve(
        echo(),
        requests.as_bytes(),
        writer,
        LineConfig::default(),
    ))
    .await
    .unwrap();
    assert_eq!(writes.load(Ordering::SeqCst), 1);
}

struct CountWrites(Arc<AtomicUsize>);

impl AsyncWrite for CountWrites {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, b: &[u8]) -> Poll<io::Result<usize>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Poll::Ready(Ok(b.len()))
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn a_thousand_garbage_lines_between_a_thousand_calls_cost_nothing() {
    let (mut peer, server) = RawPeer::of_server(echo(), LineConfig::default());
    let garbage: [&[u8]; 5] = [
        b"npm warn deprecated\n",
        b"\xff\xfe\x00\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":\n",
        b"[1,2,3]\n",
        b"}}}}{{{{\"\n",
    ];
    for number in 0..1000 {
        peer.send_bytes(garbage[number % garbage.len()]).await;
        peer.send(&say(&number.to_string(), &format!("[{number}]")))
            .await;
        let refusal = peer.line().await.unwrap();
        assert!(
            refusal.starts_with(r#"{"jsonrpc":"2.0","error":{"code":-32"#),
            "{refusal}"
        );
        let answer = result(&number.to_string(), &format!("[{number}]"));
        assert_eq!(peer.line().await, Some(answer));
    }
    peer.finish().await;
    soon(server).await.unwrap().unwrap();
}

#[tokio::test]
async fn bad_lines_are_refused_with_the_right_code_and_good_ones_go_on() {
    let mut config = LineConfig::default();
    config.limits = Limits::default().with_bytes(300).with_depth(16);
    let (mut peer, _server) = RawPeer::of_server(echo(), config);
    let long = "x".repeat(20_000);
    let without_meta = match cfg!(feature = "legacy") {
        true => {
            r#"{"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"params must have the object `_meta`; a client of an older revision must send `initialize` first"}}"#
        }
        false => {
            r#"{"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"params must have the object `_meta`: this server speaks only 2026-07-28, because it was built without the feature `legacy`"}}"#
        }
    };
    for (line, expect) in [
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"m","params":[]}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"member `params` must be an object"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":6,"method":"m"}"#.to_owned(),
            without_meta,
        ),
        (
            "not json".to_owned(),
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"message is not JSON at byte 0"}}"#,
        ),
        (
            "Content-Length: 52\r".to_owned(),
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"messages are lines of JSON; `Content-Length` headers are not part of the transport"}}"#,
        ),
        (
            format!(
                r#"{{"jsonrpc":"2.0","params":{{"id":1,"x":"{long}"}},"id":"late","method":"m"}}"#
            ),
            r#"{"jsonrpc":"2.0","id":"late","error":{"code":-32600,"message":"message is longer than 300 bytes"}}"#,
        ),
    ] {
        peer.send(&line).await;
        assert_eq!(peer.line().await.as_deref(), Some(expect), "{line}");
    }
    // Empty lines, responses and unknown notifications are no requests.
    for line in [
        "",
        "  \r",
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        &notification("x", "{}"),
    ] {
        peer.send(line).await;
    }
    peer.send(&say("7", "{}")).await;
    assert_eq!(peer.line().await, Some(result("7", "{}")));
}

#[tokio::test]
async fn a_last_line_without_a_line_break_is_answered() {
    let (mut peer, _server) = RawPeer::of_server(echo(), LineConfig::default());
    peer.send_bytes(say("1", "{}").as_bytes()).await;
    peer.finish().await;
    assert_eq!(peer.rest().await, [result("1", "{}")]);
}

#[tokio::test]
async fn a_slow_request_delays_no_other_and_a_repeated_id_is_answered_twice() {
    let gate = Arc::new(Semaphore::new(0));
    let waiting = gate.clone();
    let service = service(move |call| {
        let gate = waiting.clone();
        async move {
            if call.method.as_str() == "wait" {
                gate.acquire().await.unwrap().forget();
            }
            complete(&format!("{:?}", call.method.as_str()))
        }
    });
    let (mut peer, _server) = RawPeer::of_server(service, LineConfig::default());
    peer.send(&request("1", "wait")).await;
    peer.send(&request("1", "wait")).await;
    peer.send(&request("2", "quick")).await;
    assert_eq!(peer.line().await, Some(result("2", "\"quick\"")));
    gate.add_permits(2);
    assert_eq!(
        peer.lines(2).await,
        [result("1", "\"wait\""), result("1", "\"wait\"")]
    );
}

#[tokio::test]
async fn a_cancelled_request_says_nothing_more() {
    let released = Arc::new(Notify::new());
    let (dropped, mut drops) = mpsc::channel(1);
    let service = {
        let released = released.clone();
        service(move |call| {
            let (released, dropped) = (released.clone(), dropped.clone());
            async move {
                let _dropped = SendOnDrop(dropped);
                let progress = Notification {
                    method: Method::new("notifications/message"),
                    params: json(r#"{"level":"info"}"#),
                };
                call.cx.notify.send(progress.clone()).await;
                released.notified().await;
                call.cx.notify.send(progress).await;
                complete("{}")
            }
        })
    };
    let (mut peer, server) = RawPeer::of_server(service, LineConfig::default());
    let message = notification("notifications/message", r#"{"level":"info"}"#);

    peer.send(&request("1", "m")).await;
    assert_eq!(peer.line().await, Some(message.clone()));
    for nonsense in ["2", "\"1\"", "{}", "null"] {
        peer.send(&cancelled(nonsense)).await;
    }
    peer.send(&cancelled("1")).await;
    assert_eq!(soon(drops.recv()).await, Some(()));
    released.notify_waiters();

    peer.send(&request("2", "m")).await;
    assert_eq!(peer.line().await, Some(message.clone()));
    released.notify_waiters();
    assert_eq!(peer.lines(2).await, [message, result("2", "{}")]);
    peer.finish().await;
    assert_eq!(peer.rest().await, Vec::<String>::new());
    soon(server).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_panic_costs_only_its_own_request() {
    let service = service(|call| async move {
        match call.method.as_str() {
            "now" => panic!("as the test wants"),
            "later" => {
                tokio::task::yield_now().await;
                panic!("as the test wants")
            }
            _ => complete("{}"),
        }
    });
    let (mut peer, _server) = RawPeer::of_server(service, LineConfig::default());
    for method in ["now", "later"] {
        peer.send(&request("1", method)).await;
        assert_eq!(
            peer.line().await.as_deref(),
            Some(
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the request handler panicked"}}"#
            )
        );
    }
    peer.send(&request("2", "fine")).await;
    assert_eq!(peer.line().await, Some(result("2", "{}")));
}

#[tokio::test]
async fn notifications_come_in_order_before_the_answer() {
    let service = service(|call| async move {
        for number in 0..200 {
            let params = json(&format!(r#"{{"data":{number}}}"#));
            let method = Method::new("notifications/message");
            call.cx.notify.send(Notification { method, params }).await;
        }
        complete("{}")
    });
    let (mut peer, _server) = RawPeer::of_server(service, LineConfig::default());
    peer.send(&request("1", "m")).await;
    let mut expect: Vec<_> = (0..200)
        .map(|number| notification("notifications/message", &format!(r#"{{"data":{number}}}"#)))
        .collect();
    expect.push(result("1", "{}"));
    assert_eq!(peer.lines(201).await, expect);
}

#[tokio::test]
async fn progress_goes_only_to_calls_that_asked_for_it() {
    let service = service(|call| async move {
        let params = json(r#"{"progressToken":"t","progress":1}"#);
        let method = Method::new("notifications/progress");
        call.cx.notify.send(Notification { method, params }).await;
        complete("{}")
    });
    let (mut peer, _server) = RawPeer::of_server(service, LineConfig::default());
    peer.send(&request("1", "m")).await;
    assert_eq!(peer.line().await, Some(result("1", "{}")));
    let meta = META.replacen('{', r#"{"progressToken":"t","#, 1);
    peer.send(&request("2", "m").replace(META, &meta)).await;
    assert_eq!(
        peer.lines(2).await,
        [
            notification(
                "notifications/progress",
                r#"{"progressToken":"t","progress":1}"#
            ),
            result("2", "{}")
        ]
    );
}

#[tokio::test]
async fn over_the_limit_of_requests_in_flight_the_server_is_busy() {
    let gate = Arc::new(Semaphore::new(0));
    let waiting = gate.clone();
    let service = service(move |_| {
        let gate = waiting.clone();
        async move {
            gate.acquire().await.unwrap().forget();
            complete("{}")
        }
    });
    let mut count = LineConfig::default();
    count.in_flight = 2;
    let mut bytes = LineConfig::default();
    bytes.in_flight_bytes = 2 * request("1", "m").len();
    for config in [count, bytes] {
        let (mut peer, _server) = RawPeer::of_server(service.clone(), config);
        for id in ["1", "2", "3"] {
            peer.send(&request(id, "m")).await;
        }
        assert_eq!(
            peer.line().await.as_deref(),
            Some(
                r#"{"jsonrpc":"2.0","id":3,"error":{"code":42900,"message":"too many requests in flight"}}"#
            )
        );
        gate.add_permits(2);
        let mut answers = peer.lines(2).await;
        answers.sort();
        assert_eq!(answers, [result("1", "{}"), result("2", "{}")]);
        gate.add_permits(1);
        peer.send(&request("4", "m")).await;
        assert_eq!(peer.line().await, Some(result("4", "{}")));
    }
}

#[tokio::test]
async fn nothing_is_read_from_a_peer_that_does_not_read() {
    let started = Arc::new(AtomicUsize::new(0));
    let service = {
        let started = started.clone();
        service(move |_| {
            started.fetch_add(1, Ordering::SeqCst);
            async { complete(&format!("\"{}\"", "x".repeat(1000))) }
        })
    };
    let mut config = LineConfig::default();
    config.unsent_bytes = 10_000;
    // Between the two there is room for about thirty answers.
    let (ours, theirs) = tokio::io::duplex(20_000);
    let (reader, writer) = tokio::io::split(theirs);
    let server = tokio::spawn(serve(service, reader, writer, config));
    let (reader, mut writer) = tokio::io::split(ours);
    let flood = tokio::spawn(async move {
        for number in 0..10_000 {
            let line = format!("{}\n", request(&number.to_string(), "m"));
            tokio::io::AsyncWriteExt::write_all(&mut writer, line.as_bytes())
                .await
                .unwrap();
        }
    });
    while started.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    let before = started.load(Ordering::SeqCst);
    assert!(before < 100, "{before} requests were read");

    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(reader));
    for _ in 0..10_000 {
        soon(lines.next_line()).await.unwrap().expect("an answer");
    }
    // With the flood ended, the last half of the stream closes it.
    soon(flood).await.unwrap();
    drop(lines);
    soon(server).await.unwrap().unwrap();
}

#[tokio::test]
async fn results_of_a_peer_that_does_not_read_are_not_made() {
    const CALLS: usize = 200;
    let gate = Arc::new(Semaphore::new(0));
    let made = Arc::new(AtomicUsize::new(0));
    let service = {
        let (gate, made) = (gate.clone(), made.clone());
        service(move |_| {
            let (gate, made) = (gate.clone(), made.clone());
            async move {
                gate.acquire().await.unwrap().forget();
                made.fetch_add(1, Ordering::SeqCst);
                complete(&format!("\"{}\"", "x".repeat(1024 * 1024)))
            }
        })
    };
    let (mut peer, _server) = RawPeer::of_server(service, LineConfig::default());
    for number in 0..CALLS {
        peer.send(&request(&number.to_string(), "m")).await;
    }
    // Refused on the spot, and so answered once all calls before it are in flight.
    peer.send("{}").await;
    let refused = peer.line().await.unwrap();
    assert!(refused.contains("-32600"), "{refused}");

    gate.add_permits(CALLS);
    for _ in 0..10 * CALLS {
        tokio::task::yield_now().await;
    }
    let before = made.load(Ordering::SeqCst);
    assert!((1..=3).contains(&before), "{before} results were made");

    for _ in 0..CALLS {
        let length = peer.line().await.unwrap().len();
        assert!(length > 1024 * 1024, "{length}");
    }
    assert_eq!(made.load(Ordering::SeqCst), CALLS);
}

#[tokio::test(start_paused = true)]
async fn at_the_end_requests_have_a_grace_period_and_subscriptions_none() {
    let service = service(|call| async move {
        match call.method.as_str() {
            "slow" => tokio::time::sleep(Duration::from_millis(900)).await,
            _ => std::future::pending().await,
        }
        complete("{}")
    });
    let start = tokio::time::Instant::now();
    let (mut peer, server) = RawPeer::of_server(service.clone(), LineConfig::default());
    peer.send(&request("1", "subscriptions/listen")).await;
    peer.send(&request("2", "slow")).await;
    peer.finish().await;
    assert_eq!(peer.rest().await, [result("2", "{}")]);
    soon(server).await.unwrap().unwrap();
    assert_eq!(start.elapsed().as_millis(), 900);

    let (mut peer, server) = RawPeer::of_server(service, LineConfig::default());
    peer.send(&request("1", "endless")).await;
    peer.finish().await;
    assert_eq!(peer.rest().await, Vec::<String>::new());
    soon(server).await.unwrap().unwrap();
    assert_eq!(start.elapsed().as_millis(), 1900);
}

#[tokio::test]
async fn a_server_whose_future_is_dropped_cancels_its_requests() {
    let (dropped, mut drops) = mpsc::channel(1);
    let service = service(move |_| {
        let guard = SendOnDrop(dropped.clone());
        async move {
            let _guard = guard;
            std::future::pending::<Result<Reply, Error>>().await
        }
    });
    let (mut peer, server) = RawPeer::of_server(service, LineConfig::default());
    peer.send(&request("1", "m")).await;
    peer.send(&say("2", "{")).await;
    peer.line()
        .await
        .expect("the first request was read before");
    server.abort();
    assert_eq!(soon(drops.recv()).await, Some(()));
}
