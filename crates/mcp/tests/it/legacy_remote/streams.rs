//! Streams that end before the response, and streams of their own.

use std::time::{Duration, Instant};

use callgate_mcp::transport::http::client::HttpConfig;
use callgate_mcp::upstream::{ConnectionState, Remote};
use callgate_mcp::{Kind, Reply, Retry, Service};
use futures_util::FutureExt as _;
use tokio::sync::mpsc;

use super::old_server::{
    COMPLETE, RESULT, from, log, next, old_server, opened, remote, tool_call, what,
};
use crate::http_client::peer::{
    Answer, CHUNKS_END, Peer, Received, SSE_HEAD, call, chunk, event, failure, http, json,
    listening, result, soon, sse,
};

#[tokio::test]
async fn sl_c8_a_stream_is_resumed_after_the_last_event_and_the_wait_asked_for() {
    let mut asked = String::new();
    let mut polls = 0;
    let mut peer = Peer::start(move |request| match what(request).as_str() {
        "GET" => {
            polls += 1;
            match polls {
                // An event without data moves the place and nothing else.
                1 => sse("id: third\ndata:\n\n"),
                _ => sse(&format!("id: fourth\n{}", event(&asked))),
            }
        }
        _ => old_server(request, |request| {
            asked = request.result(RESULT);
            sse("id: first\nretry: 200\ndata:\n\nid: second\ndata:\n\n")
        }),
    })
    .await;
    let server = remote(&peer);
    let started = Instant::now();
    assert_eq!(result(&server, tool_call()).await, COMPLETE);
    assert!(started.elapsed() >= Duration::from_millis(400));
    let resumed: Vec<_> = peer
        .requests()
        .into_iter()
        .filter(|request| what(request) == "GET")
        .map(|request| {
            let header = |name| request.header(name).map(str::to_owned);
            [
                header("last-event-id"),
                header("mcp-session-id"),
                header("accept"),
            ]
        })
        .collect();
    let expect =
        |id: &str| [id, "session-1", "text/event-stream"].map(|value| Some(value.to_owned()));
    assert_eq!(resumed, [expect("second"), expect("third")]);
}

#[tokio::test(start_paused = true)]
async fn sl_c8_a_stream_is_resumed_so_often_in_vain_and_no_more() {
    let unavailable = || http("503 Service Unavailable", "text/plain", "");
    let empty = || sse(": nothing\n\n");
    for rest in [unavailable as fn() -> Answer, empty] {
        let mut peer = Peer::start(move |request| match what(request).as_str() {
            "GET" => rest(),
            _ => old_server(request, |_| sse("id: first\ndata:\n\n")),
        })
        .await;
        let outcome = remote(&peer).call(tool_call()).await;
        let error = outcome.expect_err("the response never comes");
        assert_eq!(
            (error.kind(), error.retry(), error.to_string().as_str()),
            (
                Kind::Closed,
                Retry::Never,
                "server `peer` ended the stream before the response"
            )
        );
        let sent = log(&mut peer);
        let resumed = sent.iter().filter(|what| *what == "GET").count();
        assert_eq!(resumed, 12, "{sent:?}");
    }
}

#[tokio::test]
async fn a_server_that_may_ask_can_do_so_outside_of_calls_before_the_first() {
    let mut peer =
        Peer::start(|request| old_server(request, |request| json(&request.result(RESULT)))).await;
    let server = remote(&peer);
    let opening = ["server/discover", "initialize", "notifications/initialized"];
    for (capabilities, expect) in [
        ("{}", &[&opening[..], &["tools/call"]].concat()),
        (
            r#"{"roots":{}}"#,
            &[&opening[1..], &["GET", "tools/call"]].concat(),
        ),
    ] {
        assert_eq!(result(&server, from("a", capabilities)).await, COMPLETE);
        assert_eq!(&log(&mut peer), expect, "{capabilities}");
    }
}

#[tokio::test]
async fn hc_12_a_stream_that_cannot_be_resumed_is_lost_and_nothing_is_sent_again() {
    let mut peer = Peer::start(|request| {
        old_server(request, |_| {
            sse(
                r#"data: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}

"#,
            )
        })
    })
    .await;
    let server = remote(&peer);
    let error = failure(&server, tool_call()).await;
    assert_eq!(
        (error.kind(), error.retry(), error.to_string().as_str()),
        (
            Kind::Closed,
            Retry::Never,
            "server `peer` ended the stream before the response"
        )
    );
    server.close().await;
    let sent = log(&mut peer);
    let calls = sent.iter().filter(|what| *what == "tools/call").count();
    assert_eq!(calls, 1, "{sent:?}");
}

#[tokio::test]
async fn hc_12_a_session_that_is_lost_with_a_request_does_not_send_it_again() {
    let mut peer = Peer::start(|request| match what(request).as_str() {
        "GET" => http("404 Not Found", "text/plain", "no session"),
        _ => old_server(request, |_| sse("id: 1\nretry: 1\ndata:\n\n")),
    })
    .await;
    let error = failure(&remote(&peer), tool_call()).await;
    assert_eq!((error.kind(), error.retry()), (Kind::Closed, Retry::Never));
    let sent = log(&mut peer);
    assert_eq!(
        sent,
        [
            "server/discover",
            "initialize",
            "notifications/initialized",
            "tools/call",
            "GET"
        ]
    );
}

const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

fn listen() -> callgate_mcp::Call {
    call(
        "subscriptions/listen",
        r#""notifications":{"toolsListChanged":true},"#,
    )
}

#[tokio::test]
async fn sl_c3_changes_come_by_a_stream_that_is_opened_on_demand_and_again_when_it_ends() {
    let (first, first_pieces) = mpsc::unbounded_channel();
    let (second, second_pieces) = mpsc::unbounded_channel();
    let mut streams = vec![second_pieces, first_pieces];
    let mut peer = Peer::start(move |request| match what(request).as_str() {
        "GET" => Answer::Pieces(streams.pop().unwrap()),
        _ => old_server(request, |request| panic!("unexpected {}", request.line)),
    })
    .await;
    let server = remote(&peer);
    let (call, mut notifications) = listening(listen());
    let mut running = server.call(call);
    let test = async {
        let mut heard = async || notifications.next().await.method.to_string();
        let changed = event(CHANGED);
        let opened = next(&mut peer, "GET").await;
        first.send(SSE_HEAD.into()).unwrap();
        assert_eq!(heard().await, "notifications/subscriptions/acknowledged");
        let text = chunk(&format!("id: 7\nretry: 1\n{changed}")) + CHUNKS_END;
        first.send(text.into()).unwrap();
        drop(first);
        assert_eq!(heard().await, "notifications/tools/list_changed");
        let resumed = next(&mut peer, "GET").await;
        assert_eq!(
            (
                opened.header("last-event-id"),
                resumed.header("last-event-id")
            ),
            (None, Some("7"))
        );
        let text = format!("{SSE_HEAD}{}", chunk(&changed));
        second.send(text.into()).unwrap();
        assert_eq!(heard().await, "notifications/tools/list_changed");
    };
    soon(async {
        tokio::select! {
            outcome = &mut running => panic!("the subscription ended: {outcome:?}"),
            () = test => {}
        }
    })
    .await;
    drop(running);
    server.close().await;
    // The stream ends with the session.
    peer.disconnected().await;
}

#[tokio::test]
async fn a_subscription_waits_for_the_stream_that_another_one_opens() {
    let (stream, pieces) = mpsc::unbounded_channel();
    let mut pieces = Some(pieces);
    let mut peer = Peer::start(move |request| match what(request).as_str() {
        "GET" => match pieces.take() {
            Some(pieces) => Answer::Pieces(pieces),
            None => http("405 Method Not Allowed", "text/plain", ""),
        },
        _ => old_server(request, |request| json(&request.result(RESULT))),
    })
    .await;
    let server = remote(&peer);
    let (first, mut told_first) = listening(listen());
    let (second, mut told_second) = listening(listen());
    let (mut first, mut second) = (server.call(first), server.call(second));
    let test = async {
        next(&mut peer, "GET").await;
        assert!((&mut second).now_or_never().is_none());
        stream
            .send(b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n".into())
            .unwrap();
        let mut acknowledged = Vec::new();
        for told in [&mut told_first, &mut told_second] {
            tokio::select! {
                outcome = &mut second => panic!("the subscription ended: {outcome:?}"),
                notification = told.next() => {
                    let filter = notification.params.get("notifications");
                    acknowledged.push(filter.unwrap().as_str().to_owned());
                }
            }
        }
        assert_eq!(acknowledged, ["{}", "{}"]);
    };
    soon(async {
        tokio::select! {
            outcome = &mut first => panic!("the subscription ended: {outcome:?}"),
            () = test => {}
        }
    })
    .await;
}

#[tokio::test]
async fn sl_c3_a_server_without_such_a_stream_is_no_failure() {
    let mut peer =
        Peer::start(|request| old_server(request, |request| json(&request.result(RESULT)))).await;
    let server = remote(&peer);
    let (call, mut notifications) = listening(listen());
    let mut running = server.call(call);
    soon(async {
        tokio::select! {
            outcome = &mut running => panic!("the subscription ended: {outcome:?}"),
            first = notifications.next() => {
                assert_eq!(first.method.as_str(), "notifications/subscriptions/acknowledged");
            }
        }
    })
    .await;
    next(&mut peer, "GET").await;
    assert_eq!(result(&server, tool_call()).await, COMPLETE);
}

#[tokio::test]
async fn a_question_on_the_stream_of_the_server_reaches_the_caller_of_the_moment() {
    let (stream, pieces) = mpsc::unbounded_channel();
    let (_held, never) = mpsc::unbounded_channel();
    let (mut pieces, mut never) = (Some(pieces), Some(never));
    let ask = r#"{"jsonrpc":"2.0","id":"q-1","method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}"#;
    stream.send(SSE_HEAD.into()).unwrap();
    let peer = Peer::start(move |request| match what(request).as_str() {
        "GET" => Answer::Pieces(pieces.take().unwrap()),
        _ => old_server(request, |_| {
            stream.send(chunk(&event(ask)).into()).unwrap();
            Answer::Pieces(never.take().unwrap())
        }),
    })
    .await;
    let server = remote(&peer);
    let outcome = soon(server.call(from("ann", r#"{"elicitation":{"form":{}}}"#))).await;
    match outcome {
        Ok(Reply::InputRequired(asked)) => {
            assert!(asked.as_str().contains(r#""message":"Who?""#), "{asked:?}");
        }
        other => panic!("nothing was asked: {other:?}"),
    }
}

#[tokio::test]
async fn messages_on_the_stream_of_a_list_that_no_client_asked_for_are_handled() {
    const WITH_TASKS: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"old","version":"1"}}"#;
    const PING: &str = r#"{"jsonrpc":"2.0","id":"p-1","method":"ping"}"#;
    let (stream, pieces) = mpsc::unbounded_channel();
    stream.send(SSE_HEAD.into()).unwrap();
    let mut pieces = Some(pieces);
    let mut peer = Peer::start(move |request| match what(request).as_str() {
        "initialize" => opened("session-1", &request.result(WITH_TASKS)),
        "GET" => Answer::Pieces(pieces.take().unwrap()),
        _ => old_server(request, |request| match what(request).as_str() {
            "tools/list" => sse(&[CHANGED, PING, &request.result(r#"{"tools":[]}"#)]
                .map(event)
                .concat()),
            _ => json(&request.result(RESULT)),
        }),
    })
    .await;
    let server = remote(&peer);
    let (call, mut notifications) = listening(listen());
    let mut running = server.call(call);
    let test = async {
        let mut heard = async || notifications.next().await.method.to_string();
        assert_eq!(heard().await, "notifications/subscriptions/acknowledged");
        assert_eq!(result(&server, tool_call()).await, COMPLETE);
        assert_eq!(heard().await, "notifications/tools/list_changed");
        assert_eq!(
            next(&mut peer, "response").await.text(),
            r#"{"jsonrpc":"2.0","id":"p-1","result":{}}"#
        );
    };
    soon(async {
        tokio::select! {
            outcome = &mut running => panic!("the subscription ended: {outcome:?}"),
            () = test => {}
        }
    })
    .await;
}

#[tokio::test]
async fn the_death_of_a_server_is_noticed_while_no_call_is_made() {
    let (stream, pieces) = mpsc::unbounded_channel();
    let opening = format!("{SSE_HEAD}{}", chunk("id: 1\nretry: 1\ndata:\n\n"));
    stream.send(opening.into()).unwrap();
    let mut pieces = Some(pieces);
    let mut peer = Peer::start(move |request| match what(request).as_str() {
        "GET" => Answer::Pieces(pieces.take().unwrap()),
        _ => old_server(request, |request| json(&request.result(RESULT))),
    })
    .await;
    let server = remote(&peer);
    let (call, mut notifications) = listening(listen());
    let running = server.call(call);
    let test = async {
        let first = notifications.next().await;
        assert_eq!(
            first.method.as_str(),
            "notifications/subscriptions/acknowledged"
        );
        // A session of another caller, which has no stream, says nothing of the server.
        assert_eq!(result(&server, from("other", "{}")).await, COMPLETE);
        assert!(matches!(server.state(), ConnectionState::Connected { .. }));
        peer.die().await;
        server.closed().await
    };
    let (reason, ended) = soon(async { tokio::join!(test, running) }).await;
    let text = reason.to_string();
    assert_eq!(reason.kind(), Kind::Connect, "{text}");
    assert!(
        text.starts_with("cannot connect to server `peer` at "),
        "{text}"
    );
    assert!(ended.is_ok(), "{ended:?}");
    drop(stream);
}

/// A server whose GET stream ends, and is refused when it is opened again. Pings are answered with `pong`.
async fn losing_its_stream(pong: fn(&Received) -> Answer) -> Peer {
    let mut streams = 0;
    Peer::start(move |request| match what(request).as_str() {
        "GET" => {
            streams += 1;
            match streams {
                1 => sse("id: 1\nretry: 1\ndata:\n\n"),
                _ => http("404 Not Found", "text/plain", ""),
            }
        }
        "ping" => pong(request),
        _ => old_server(request, |request| json(&request.result(RESULT))),
    })
    .await
}

#[tokio::test]
async fn a_server_that_forgot_the_session_of_a_stream_is_noticed_while_no_call_is_made() {
    let peer = losing_its_stream(|_| http("404 Not Found", "text/plain", "")).await;
    let server = remote(&peer);
    let (call, _notifications) = listening(listen());
    let running = server.call(call);
    let (reason, _) = soon(async { tokio::join!(server.closed(), running) }).await;
    assert_eq!(
        reason.to_string(),
        "server `peer` no longer knows the session"
    );
}

#[tokio::test]
async fn a_server_that_closes_its_stream_for_good_keeps_the_session_but_ends_subscriptions() {
    let mut peer = losing_its_stream(|request| json(&request.result("{}"))).await;
    let server = remote(&peer);
    let (call, mut notifications) = listening(listen());
    let ended = soon(server.call(call)).await;
    assert!(ended.is_ok(), "{ended:?}");
    let acknowledged = soon(notifications.next()).await;
    assert_eq!(
        acknowledged.params.get("notifications").unwrap().as_str(),
        r#"{"toolsListChanged":true}"#
    );
    next(&mut peer, "ping").await;
    assert_eq!(result(&server, tool_call()).await, COMPLETE);
    assert!(matches!(server.state(), ConnectionState::Connected { .. }));
    assert_eq!(log(&mut peer), ["tools/call"]);
    // The next one learns that there is no stream for it.
    let (call, mut notifications) = listening(listen());
    let mut running = server.call(call);
    soon(async {
        tokio::select! {
            outcome = &mut running => panic!("the subscription ended: {outcome:?}"),
            told = notifications.next() => {
                assert_eq!(told.params.get("notifications").unwrap().as_str(), "{}");
            }
        }
    })
    .await;
}

/// Listens to a server that ends its first stream, answers `refusal` to the second request for one and
/// announces a change on the third; returns the time between the last two.
async fn time_until_a_stream_is_asked_for_again(refusal: &'static str) -> Duration {
    let (stream, pieces) = mpsc::unbounded_channel();
    let opening = format!("{SSE_HEAD}{}", chunk(&event(CHANGED)));
    stream.send(opening.into()).unwrap();
    let mut pieces = Some(pieces);
    let (times, mut asked) = mpsc::unbounded_channel();
    let mut streams = 0;
    let peer = Peer::start(move |request| match what(request).as_str() {
        "GET" => {
            times.send(Instant::now()).unwrap();
            streams += 1;
            match streams {
                1 => sse("id: 1\nretry: 1\ndata:\n\n"),
                2 => Answer::Write(format!("HTTP/1.1 {refusal}\r\n\r\n").into_bytes()),
                _ => Answer::Pieces(pieces.take().unwrap()),
            }
        }
        _ => old_server(request, |request| panic!("unexpected {}", request.line)),
    })
    .await;
    let server = remote(&peer);
    let (call, mut notifications) = listening(listen());
    let mut running = server.call(call);
    soon(async {
        for expect in ["subscriptions/acknowledged", "tools/list_changed"] {
            tokio::select! {
                outcome = &mut running => panic!("{refusal}: the subscription ended: {outcome:?}"),
                told = notifications.next() => {
                    assert_eq!(told.method.as_str(), format!("notifications/{expect}"));
                }
            }
        }
    })
    .await;
    let mut times = Vec::new();
    asked.recv_many(&mut times, 3).await;
    assert_eq!(times.len(), 3, "{refusal}");
    times[2] - times[1]
}

#[tokio::test]
async fn a_stream_that_is_refused_for_a_while_is_opened_again() {
    let again = time_until_a_stream_is_asked_for_again;
    let (_, _, _, later) = tokio::join!(
        again("408 Request Timeout\r\ncontent-length: 0"),
        again("409 Conflict\r\ncontent-length: 0"),
        again("425 Too Early\r\ncontent-length: 0"),
        again("429 Too Many Requests\r\nretry-after: 3\r\ncontent-length: 0"),
    );
    assert!(later >= Duration::from_secs(3), "{later:?}");
}

#[tokio::test]
async fn a_stream_with_an_event_beyond_the_limit_is_opened_anew_behind_it() {
    let (stream, pieces) = mpsc::unbounded_channel();
    let opening = format!("{SSE_HEAD}{}", chunk(&event(CHANGED)));
    stream.send(opening.into()).unwrap();
    let mut pieces = Some(pieces);
    let mut streams = 0;
    let mut peer = Peer::start(move |request| match what(request).as_str() {
        "GET" => {
            streams += 1;
            match streams {
                1 => sse(&format!(
                    "id: 1\nretry: 1\ndata:\n\ndata: {}\n\n",
                    "x".repeat(20_000)
                )),
                _ => Answer::Pieces(pieces.take().unwrap()),
            }
        }
        _ => old_server(request, |request| panic!("unexpected {}", request.line)),
    })
    .await;
    let mut config = HttpConfig::new("peer");
    config.limits.event = 10_000;
    let server = Remote::new(&peer.url, config).unwrap();
    let (call, mut notifications) = listening(listen());
    let mut running = server.call(call);
    soon(async {
        for expect in ["subscriptions/acknowledged", "tools/list_changed"] {
            tokio::select! {
                outcome = &mut running => panic!("the subscription ended: {outcome:?}"),
                told = notifications.next() => {
                    assert_eq!(told.method.as_str(), format!("notifications/{expect}"));
                }
            }
        }
    })
    .await;
    for _ in 0..2 {
        let opened = next(&mut peer, "GET").await;
        assert_eq!(opened.header("last-event-id"), None);
    }
}
