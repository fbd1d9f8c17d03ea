//! Streamable HTTP with a session.

use std::error::Error as StdError;

use callgate_mcp::transport::http::client::{Headers, HttpConfig, HttpFailure, HttpLimits};
use callgate_mcp::upstream::Remote;
use callgate_mcp::{Kind, Retry, Service};
use futures_util::future::join;
use tokio::sync::mpsc;

use super::old_server::{
    COMPLETE, INITIALIZED, RESULT, accepted, log, next, old_server, opened, refused, remote,
    tool_call, what,
};
use crate::http_client::peer::{
    Answer, Peer, SSE_HEAD, call, chunk, event, failure, http, json, result, soon, sse,
};

#[tokio::test]
async fn sl_c4_the_session_and_its_version_go_with_everything_after_the_handshake() {
    let mut peer =
        Peer::start(|request| old_server(request, |request| json(&request.result(RESULT)))).await;
    let server = remote(&peer);
    assert_eq!(result(&server, tool_call()).await, COMPLETE);
    server.close().await;
    let seen: Vec<_> = peer
        .requests()
        .iter()
        .map(|request| {
            let header = |name| request.header(name).unwrap_or("-").to_owned();
            (
                what(request),
                header("mcp-session-id"),
                header("mcp-protocol-version"),
                header("mcp-method"),
                header("accept"),
            )
        })
        .collect();
    let both = "application/json, text/event-stream";
    let row = |what: &str, session: &str, version: &str, method: &str| {
        let [what, session, version, method, both] =
            [what, session, version, method, both].map(str::to_owned);
        (what, session, version, method, both)
    };
    assert_eq!(
        seen,
        [
            row("server/discover", "-", "2026-07-28", "server/discover"),
            row("initialize", "-", "-", "-"),
            row("notifications/initialized", "session-1", "2025-11-25", "-"),
            row("tools/call", "session-1", "2025-11-25", "-"),
            row("DELETE", "session-1", "2025-11-25", "-"),
        ]
    );
}

#[tokio::test]
async fn sl_c7_no_version_is_sent_to_a_server_that_knows_no_such_header() {
    let mut peer = Peer::start(|request| match what(request).as_str() {
        "initialize" => json(&request.result(&INITIALIZED.replace("2025-11-25", "2025-03-26"))),
        _ => old_server(request, |request| json(&request.result(RESULT))),
    })
    .await;
    assert_eq!(result(&remote(&peer), tool_call()).await, COMPLETE);
    let call = next(&mut peer, "tools/call").await;
    assert_eq!(
        (
            call.header("mcp-session-id"),
            call.header("mcp-protocol-version")
        ),
        (None, None)
    );
}

#[tokio::test]
async fn sl_c2_a_batch_and_notifications_with_other_statuses_are_understood() {
    let peer = Peer::start(|request| match what(request).as_str() {
        "notifications/initialized" => Answer::Write(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()),
        _ => old_server(request, |request| {
            let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;
            json(&format!("[{progress},{}]", request.result(RESULT)))
        }),
    })
    .await;
    assert_eq!(result(&remote(&peer), tool_call()).await, COMPLETE);
}

#[tokio::test]
async fn a_server_may_turn_the_ids_of_requests_into_strings() {
    let peer = Peer::start(|request| {
        old_server(request, |request| {
            let id = format!(r#""id":{},"#, request.message().id);
            let as_string = format!(r#""id":"{}","#, request.message().id);
            let answer = request.result(RESULT).replace(&id, &as_string);
            match request.text().contains(r#""name":"t""#) {
                true => json(&answer),
                false => sse(&event(&answer)),
            }
        })
    })
    .await;
    let server = remote(&peer);
    assert_eq!(result(&server, tool_call()).await, COMPLETE);
    let streamed = call("tools/call", r#""name":"u","#);
    assert_eq!(result(&server, streamed).await, COMPLETE);
}

#[tokio::test]
async fn sl_c2_a_request_of_the_server_is_answered_by_a_post() {
    let (pieces, receiver) = mpsc::unbounded_channel();
    let mut receiver = Some(receiver);
    let mut peer = Peer::start(move |request| {
        old_server(request, |_| Answer::Pieces(receiver.take().unwrap()))
    })
    .await;
    let server = remote(&peer);
    let call = tool_call();
    let running = server.call(call);
    let test = async {
        let request = next(&mut peer, "tools/call").await;
        let send = |text: String| pieces.send(text.into_bytes()).unwrap();
        send(SSE_HEAD.to_owned());
        let ping = r#"{"jsonrpc":"2.0","id":"ping-1","method":"ping"}"#;
        send(chunk(&event(ping)));
        let answer = next(&mut peer, "response").await;
        assert_eq!(
            (answer.text(), answer.header("mcp-session-id")),
            (
                r#"{"jsonrpc":"2.0","id":"ping-1","result":{}}"#,
                Some("session-1")
            )
        );
        send(chunk(&event(&request.result(RESULT))));
    };
    let (outcome, ()) = soon(join(running, test)).await;
    assert_eq!(outcome.unwrap().into_result().as_str(), COMPLETE);
}

#[tokio::test]
async fn sl_c9_a_dropped_call_is_canceled_by_exactly_one_notification() {
    let (_pieces, receiver) = mpsc::unbounded_channel();
    let mut receiver = Some(receiver);
    let mut peer = Peer::start(move |request| {
        old_server(request, |request| match receiver.take() {
            Some(pieces) => Answer::Pieces(pieces),
            None => json(&request.result(RESULT)),
        })
    })
    .await;
    let server = remote(&peer);
    let call = {
        let running = server.call(tool_call());
        tokio::select! {
            outcome = running => panic!("the call ended: {outcome:?}"),
            call = next(&mut peer, "tools/call") => call,
        }
    };
    let cancelled = next(&mut peer, "notifications/cancelled").await;
    assert_eq!(
        cancelled.text(),
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{}}}}}"#,
            call.message().id
        )
    );
    assert_eq!(result(&server, tool_call()).await, COMPLETE);
    server.close().await;
    assert_eq!(log(&mut peer), ["tools/call", "DELETE"]);
}

#[tokio::test]
async fn a_handshake_is_never_canceled() {
    let (_pieces, receiver) = mpsc::unbounded_channel();
    let mut receiver = Some(receiver);
    let mut peer = Peer::start(move |request| match what(request).as_str() {
        "initialize" => Answer::Pieces(receiver.take().unwrap()),
        _ => refused(request),
    })
    .await;
    let server = remote(&peer);
    {
        let running = server.call(tool_call());
        tokio::select! {
            outcome = running => panic!("the call ended: {outcome:?}"),
            _ = next(&mut peer, "initialize") => {}
        }
    }
    peer.disconnected().await;
    server.close().await;
    assert_eq!(log(&mut peer), Vec::<String>::new());
}

#[tokio::test]
async fn hc_1_a_refusal_of_an_old_server_is_an_error_that_says_so() {
    for status in ["400 Bad Request", "404 Not Found", "405 Method Not Allowed"] {
        let peer = Peer::start(move |request| match what(request).as_str() {
            // Without a session there is none to lose.
            "initialize" => json(&request.result(INITIALIZED)),
            _ => old_server(request, |_| http(status, "text/plain", "no")),
        })
        .await;
        let error = failure(&remote(&peer), tool_call()).await;
        assert_eq!(
            (error.kind(), error.code(), error.to_string()),
            (
                Kind::Protocol,
                -32603,
                format!(
                    "server `peer` answered with HTTP status {status} with content type `text/plain`: no"
                )
            )
        );
    }
}

#[tokio::test]
async fn hc_23_a_challenge_is_not_passed_on_to_callers() {
    const CHALLENGE: &str = r#"Bearer resource_metadata="https://upstream.example/meta""#;
    for (status, refused_method) in [
        ("401 Unauthorized", "server/discover"),
        ("401 Unauthorized", "initialize"),
        ("401 Unauthorized", "tools/call"),
        ("403 Forbidden", "tools/call"),
    ] {
        let peer = Peer::start(move |request| {
            if what(request) == refused_method {
                let message = request.error(-32001);
                let head = format!(
                    "HTTP/1.1 {status}\r\nwww-authenticate: {CHALLENGE}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                    message.len()
                );
                return Answer::Write((head + &message).into_bytes());
            }
            old_server(request, |request| json(&request.result(RESULT)))
        })
        .await;
        let error = failure(&remote(&peer), tool_call()).await;
        assert_eq!(error.kind(), Kind::Unauthorized, "{refused_method}");
        assert!(!error.to_string().contains("upstream.example"), "{error}");
        assert_eq!((error.raw(), error.data()), (None, None));
        let source = error.source().and_then(|source| source.downcast_ref());
        let failure: &HttpFailure = source.unwrap();
        assert_eq!(failure.www_authenticate, [CHALLENGE]);
    }
}

#[tokio::test]
async fn the_session_is_never_shown() {
    let peer = Peer::start(|request| {
        old_server(request, |_| {
            http(
                "500 Oops",
                "text/plain",
                "broken: session-1 with top-secret",
            )
        })
    })
    .await;
    let mut config = HttpConfig::new("peer");
    config.headers = Headers::default()
        .with("authorization", "Bearer top-secret")
        .unwrap();
    let server = Remote::new(&peer.url, config).unwrap();
    let error = failure(&server, tool_call()).await;
    assert_eq!(
        error.to_string(),
        "server `peer` answered with HTTP status 500 Internal Server Error with content type `text/plain`: broken: *** with ***"
    );
    let shown = format!("{error:?} {server:?}");
    assert!(
        !shown.contains("session-1") && !shown.contains("top-secret"),
        "{shown}"
    );
}

#[tokio::test]
async fn a_session_that_cannot_be_named_back_is_refused() {
    let peer = Peer::start(|request| match what(request).as_str() {
        "initialize" => opened("a b", &request.result(INITIALIZED)),
        _ => refused(request),
    })
    .await;
    let error = failure(&remote(&peer), tool_call()).await;
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (
            Kind::Protocol,
            "server `peer` named a session that cannot be named back"
        )
    );
}

#[tokio::test]
async fn responses_and_events_over_the_limit_are_refused_and_their_requests_canceled() {
    for streamed in [false, true] {
        let mut peer = Peer::start(move |request| {
            old_server(request, |request| {
                let big = request.result(&format!(r#"{{"content":"{}"}}"#, "x".repeat(1024)));
                match streamed {
                    true => sse(&event(&big)),
                    false => json(&big),
                }
            })
        })
        .await;
        let mut config = HttpConfig::new("peer");
        config.limits = {
            let mut limits = HttpLimits::default();
            limits.json = 512;
            limits.event = 512;
            limits.error = 512;
            limits
        };
        let server = Remote::new(&peer.url, config).unwrap();
        let error = failure(&server, tool_call()).await;
        let what = if streamed { "an event" } else { "a response" };
        assert_eq!(
            (error.kind(), error.retry(), error.to_string()),
            (
                Kind::TooLarge,
                Retry::Never,
                format!("server `peer` sent {what} larger than 512 bytes")
            )
        );
        next(&mut peer, "notifications/cancelled").await;
    }
}

#[tokio::test]
async fn a_request_that_is_only_accepted_is_a_failure() {
    let peer = Peer::start(|request| old_server(request, |_| accepted())).await;
    let error = failure(&remote(&peer), tool_call()).await;
    assert_eq!(error.kind(), Kind::Protocol);
}
