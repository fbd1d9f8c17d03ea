//! Which era a server is found to speak, and when that is asked again.

use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::transport::http::client::HttpConfig;
use callgate_mcp::transport::http::server::{HttpServerConfig, Listener};
use callgate_mcp::upstream::{ConnectionState, Era, Remote};
use callgate_mcp::wire::Version;
use callgate_mcp::{BoxFuture, Call, Error, Kind, Reply, Retry, Service};

use super::old_server::{
    COMPLETE, INITIALIZED, RESULT, log, old_server, opened, refused, remote, tool_call, what,
};
use crate::http_client::peer::{Answer, Peer, Received, event, failure, http, json, result, sse};

const DISCOVERED: &str =
    r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}"#;

fn modern_server(request: &Received) -> Answer {
    match what(request).as_str() {
        "GET" => http("405 Method Not Allowed", "text/plain", ""),
        _ if request.header("mcp-method").is_none() => http(
            "400 Bad Request",
            "application/json",
            &request.error(-32020),
        ),
        "server/discover" => json(&request.result(DISCOVERED)),
        _ => json(&request.result(COMPLETE)),
    }
}

/// What is sent to a server that answers the probe so, and everything else like one of its era.
async fn check(probe: fn(&Received) -> Answer, expect: &[&str]) {
    let mut peer = Peer::start(move |request| match what(request).as_str() {
        "server/discover" => probe(request),
        _ if request.header("mcp-method").is_some() => modern_server(request),
        _ => old_server(request, |request| json(&request.result(RESULT))),
    })
    .await;
    let server = remote(&peer);
    for _ in 0..2 {
        assert_eq!(result(&server, tool_call()).await, COMPLETE);
    }
    assert_eq!(log(&mut peer), expect);
}

#[tokio::test]
async fn a_server_is_asked_once_and_then_spoken_to_in_its_way() {
    const MODERN: &[&str] = &["server/discover", "tools/call", "tools/call"];
    const OLD: &[&str] = &[
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/call",
        "tools/call",
    ];
    fn refusal(status: &str, request: &Received, code: i64) -> Answer {
        http(status, "application/json", &request.error(code))
    }
    check(|r| json(&r.result(DISCOVERED)), MODERN).await;
    check(|r| sse(&event(&r.result(DISCOVERED))), MODERN).await;
    // No old server gives a result its type, so the versions may be missing.
    check(|r| json(&r.result(r#"{"resultType":"complete"}"#)), MODERN).await;
    check(|r| refusal("400 Bad Request", r, -32022), MODERN).await;
    check(|r| refusal("200 OK", r, -32021), MODERN).await;
    check(|r| json(&r.result("{}")), OLD).await;
    check(|r| sse(&event(&r.result("{}"))), OLD).await;
    check(|_| sse(": nothing\n\n"), OLD).await;
    check(|r| refusal("200 OK", r, -32601), OLD).await;
    check(|r| refusal("404 Not Found", r, -32601), OLD).await;
    check(|r| refusal("400 Bad Request", r, -32602), OLD).await;
    check(|r| refusal("405 Method Not Allowed", r, -32601), OLD).await;
    check(|_| http("400 Bad Request", "text/plain", "no"), OLD).await;
    check(|_| http("404 Not Found", "text/html", "<html>"), OLD).await;
    check(|_| http("406 Not Acceptable", "text/plain", ""), OLD).await;
    check(|_| http("202 Accepted", "text/plain", ""), OLD).await;
}

#[tokio::test]
async fn a_server_without_discovery_that_refuses_the_handshake_is_modern() {
    let mut peer = Peer::start(|request| match what(request).as_str() {
        "server/discover" => http("404 Not Found", "application/json", &request.error(-32601)),
        _ => modern_server(request),
    })
    .await;
    let server = remote(&peer);
    for _ in 0..2 {
        assert_eq!(result(&server, tool_call()).await, COMPLETE);
    }
    assert_eq!(
        log(&mut peer),
        ["server/discover", "initialize", "tools/call", "tools/call"]
    );
    assert_eq!(server.era(), Some(Era::Modern));
}

/// The same call on behalf of an old client.
fn translated_call() -> Call {
    let mut call = tool_call();
    call.cx.source.translated_from = Some(Version::V2025_06_18);
    call
}

/// A server of both eras.
fn dual_server(request: &Received) -> Answer {
    match request.header("mcp-method") {
        Some(_) => modern_server(request),
        None => old_server(request, |request| json(&request.result(RESULT))),
    }
}

#[tokio::test]
async fn a_server_of_both_eras_gets_each_call_in_the_era_of_its_client() {
    const OLD: [&str; 3] = ["initialize", "notifications/initialized", "tools/call"];
    const MODERN: [&str; 2] = ["server/discover", "tools/call"];
    let check = async |first: fn() -> Call,
                       expect: &[&str],
                       second: fn() -> Call,
                       rest: &[&str]| {
        let mut peer = Peer::start(dual_server).await;
        let server = remote(&peer);
        for (call, expect) in [(first, expect), (second, rest)] {
            assert_eq!(result(&server, call()).await, COMPLETE);
            assert_eq!(log(&mut peer), expect);
        }
        for call in [first, second] {
            assert_eq!(result(&server, call()).await, COMPLETE);
            assert_eq!(log(&mut peer), ["tools/call"]);
        }
        let state = server.state();
        assert!(
            matches!(state, ConnectionState::Connected { version } if version == Version::LATEST),
            "{state:?}"
        );
    };
    check(translated_call, &OLD, tool_call, &MODERN).await;
    check(tool_call, &MODERN, translated_call, &OLD).await;
}

#[tokio::test]
async fn a_modern_server_that_refuses_sessions_is_asked_once_for_one() {
    let mut peer = Peer::start(modern_server).await;
    let server = remote(&peer);
    for _ in 0..2 {
        assert_eq!(result(&server, translated_call()).await, COMPLETE);
    }
    assert_eq!(
        log(&mut peer),
        ["initialize", "server/discover", "tools/call", "tools/call"]
    );
}

#[tokio::test]
async fn a_modern_server_that_keeps_no_session_serves_old_clients_without() {
    let mut peer = Peer::start(|request| match what(request).as_str() {
        "initialize" => json(&request.result(INITIALIZED)),
        _ => dual_server(request),
    })
    .await;
    let server = remote(&peer);
    for _ in 0..2 {
        assert_eq!(result(&server, translated_call()).await, COMPLETE);
    }
    assert_eq!(
        log(&mut peer),
        [
            "initialize",
            "notifications/initialized",
            "server/discover",
            "tools/call",
            "tools/call"
        ]
    );
}

#[tokio::test]
async fn a_modern_server_that_fails_at_a_handshake_answers_old_clients_without() {
    let mut peer = Peer::start(|request| match what(request).as_str() {
        "initialize" => http("500 Internal Server Error", "text/plain", ""),
        _ => modern_server(request),
    })
    .await;
    assert_eq!(result(&remote(&peer), translated_call()).await, COMPLETE);
    assert_eq!(
        log(&mut peer),
        ["initialize", "server/discover", "tools/call"]
    );
}

#[tokio::test]
async fn an_era_that_is_set_holds_for_old_clients_too() {
    let mut peer = Peer::start(dual_server).await;
    let server = remote(&peer).assume(Era::Modern);
    assert_eq!(result(&server, translated_call()).await, COMPLETE);
    assert_eq!(log(&mut peer), ["tools/call"]);
}

#[tokio::test]
async fn an_answer_that_tells_nothing_is_an_error_and_asked_again() {
    for (status, kind, retry) in [
        ("401 Unauthorized", Kind::Unauthorized, Retry::Never),
        ("403 Forbidden", Kind::Unauthorized, Retry::Never),
        ("307 Temporary Redirect", Kind::Protocol, Retry::Never),
        ("500 Internal Server Error", Kind::Protocol, Retry::Never),
        ("503 Service Unavailable", Kind::Connect, Retry::Safe),
    ] {
        let mut asked = false;
        let mut peer = Peer::start(move |request| match what(request).as_str() {
            "server/discover" if !std::mem::replace(&mut asked, true) => {
                http(status, "text/plain", "")
            }
            _ => old_server(request, |request| json(&request.result(RESULT))),
        })
        .await;
        let server = remote(&peer);
        let error = failure(&server, tool_call()).await;
        assert_eq!((error.kind(), error.retry()), (kind, retry), "{status}");
        assert_eq!(log(&mut peer), ["server/discover"]);
        assert_eq!(result(&server, tool_call()).await, COMPLETE);
    }
}

#[tokio::test]
async fn a_server_of_a_known_era_is_not_asked() {
    let mut peer =
        Peer::start(|request| old_server(request, |request| json(&request.result(RESULT)))).await;
    let server = Remote::new(&peer.url, HttpConfig::new("peer"))
        .unwrap()
        .assume(Era::OLD);
    assert_eq!(result(&server, tool_call()).await, COMPLETE);
    assert_eq!(
        log(&mut peer),
        ["initialize", "notifications/initialized", "tools/call"]
    );
}

/// A server that is `modern` when the number of the request says so, and otherwise old.
async fn changing(modern: impl Fn(usize) -> bool + Send + 'static) -> Peer {
    let mut number = 0;
    Peer::start(move |request| {
        number += 1;
        if modern(number) {
            return modern_server(request);
        }
        match what(request).as_str() {
            "initialize" => opened("session-1", &request.result(INITIALIZED)),
            _ if request.header("mcp-method").is_some() => refused(request),
            _ => old_server(request, |request| json(&request.result(RESULT))),
        }
    })
    .await
}

#[tokio::test]
async fn hc_24_a_server_that_was_rolled_back_is_spoken_to_in_the_old_way() {
    let mut peer = changing(|number| number <= 2).await;
    let server = remote(&peer);
    for _ in 0..2 {
        assert_eq!(result(&server, tool_call()).await, COMPLETE);
    }
    assert_eq!(
        log(&mut peer),
        [
            "server/discover",
            "tools/call",
            "tools/call",
            "server/discover",
            "initialize",
            "notifications/initialized",
            "tools/call"
        ]
    );
}

#[tokio::test]
async fn hc_24_a_server_that_was_upgraded_is_spoken_to_in_the_new_way() {
    let mut peer = changing(|number| number > 4).await;
    let server = remote(&peer);
    for _ in 0..2 {
        assert_eq!(result(&server, tool_call()).await, COMPLETE);
    }
    assert_eq!(
        log(&mut peer),
        [
            "server/discover",
            "initialize",
            "notifications/initialized",
            "tools/call",
            // The session is gone, and no other to be had.
            "tools/call",
            "initialize",
            "server/discover",
            "tools/call"
        ]
    );
}

#[tokio::test]
async fn hc_24_a_server_that_keeps_changing_is_not_asked_every_time() {
    let mut calls = 0;
    let mut peer = Peer::start(move |request| match what(request).as_str() {
        "server/discover" => modern_server(request),
        _ => {
            calls += 1;
            match calls % 2 {
                1 => modern_server(request),
                _ => refused(request),
            }
        }
    })
    .await;
    let server = remote(&peer);
    for _ in 0..10 {
        assert_eq!(result(&server, tool_call()).await, COMPLETE);
        let error = failure(&server, tool_call()).await;
        assert_eq!((error.kind(), error.code()), (Kind::Rpc, -32000));
    }
    let sent = log(&mut peer);
    let count = |wanted: &str| sent.iter().filter(|what| *what == wanted).count();
    assert_eq!((count("server/discover"), count("tools/call")), (4, 20));
}

#[tokio::test]
async fn a_server_of_no_known_transport_is_quoted() {
    let peer = Peer::always("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await;
    let error = failure(&remote(&peer), tool_call()).await;
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (
            Kind::Connect,
            "server `peer` answered with HTTP status 404 Not Found without a content type; and as a server of HTTP+SSE: server `peer` answered with HTTP status 404 Not Found without a content type"
        )
    );
}

/// A service whose server has exited and will be started again.
struct Gone;

impl Service for Gone {
    fn call(&self, _call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        let gone = Error::new(Kind::Closed, "the server has exited");
        let gone = gone.with_retry_after(Duration::from_millis(6500));
        Box::pin(async { Err(gone) })
    }
}

#[tokio::test]
async fn a_handshake_that_fails_for_a_time_says_when_to_try_again() {
    let config = HttpServerConfig::default();
    let server = Listener::bind(([127, 0, 0, 1], 0).into(), Arc::new(Gone), config);
    let server = server.await.unwrap();
    let url = format!("http://{}/mcp", server.local_addr().unwrap());
    tokio::spawn(server.run());
    let remote = Remote::new(&url, HttpConfig::new("relay")).unwrap();
    let error = failure(&remote, tool_call()).await;
    assert_eq!(
        (
            error.kind(),
            error.retry_after(),
            error.to_string().as_str()
        ),
        (
            Kind::Connect,
            Some(Duration::from_secs(7)),
            "cannot connect to server `relay`: it answered `initialize` with an error: the server has \
             exited; it says to try again in 7 s"
        )
    );
}
