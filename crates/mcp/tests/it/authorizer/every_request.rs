//! Every request of every transport carries the credentials of its moment.

use callgate_mcp::transport::http::client::Headers;
use callgate_mcp::{Kind, Retry, Service};
use tokio::sync::mpsc;

use super::keyring::{Keyring, token_of};
use crate::http_client::peer::{
    Answer, Peer, SSE_HEAD, call, chunk, event, failure, json, result, soon, sse,
};
use crate::legacy_remote::old_server::{
    COMPLETE, INITIALIZED, RESULT, accepted, from, next, old_server, refused, tool_call, what,
};

/// What each request so far was, and the token it came with.
fn sent(peer: &mut Peer) -> Vec<(String, String)> {
    let requests = peer.requests();
    let sent = requests.iter();
    sent.map(|request| (what(request), token_of(request, peer).to_owned()))
        .collect()
}

fn each_with(token: &str, sent: &[&str]) -> Vec<(String, String)> {
    let sent = sent.iter();
    sent.map(|what| ((*what).to_owned(), token.to_owned()))
        .collect()
}

#[tokio::test]
async fn modern_requests_and_subscriptions_carry_them() {
    let mut peer = Peer::start(|request| {
        sse(&event(&request.result(
            r#"{"resultType":"complete","supportedVersions":["2026-07-28"]}"#,
        )))
    })
    .await;
    let keyring = Keyring::new("one");
    let server = keyring.remote(&peer);
    for method in ["tools/list", "subscriptions/listen"] {
        result(&server, call(method, "")).await;
    }
    assert_eq!(
        sent(&mut peer),
        each_with(
            "one",
            &["server/discover", "tools/list", "subscriptions/listen"]
        )
    );
}

#[tokio::test]
async fn a_changed_token_is_used_by_the_next_request_of_a_live_connection() {
    let mut peer = Peer::start(|request| json(&request.result("{}"))).await;
    let keyring = Keyring::new("one");
    let client = keyring.client(&peer);
    for token in ["one", "two", "three"] {
        keyring.change(token);
        result(&client, call("tools/list", "")).await;
        let request = peer.request().await;
        assert_eq!((token_of(&request, &peer), request.connection), (token, 1));
    }
}

#[tokio::test]
async fn they_take_the_place_of_a_configured_header() {
    let mut peer = Peer::start(|request| json(&request.result("{}"))).await;
    let mut config = Keyring::new("one").config();
    config.headers = Headers::default()
        .with("authorization", "Bearer configured")
        .unwrap()
        .with("x-team", "tools")
        .unwrap();
    let client = peer.client_with(config);
    result(&client, call("tools/list", "")).await;
    let request = peer.request().await;
    assert_eq!(token_of(&request, &peer), "one");
    assert_eq!(request.header("x-team"), Some("tools"));
}

/// An old server with a stream of its own, which it asks something on, and whose answers to calls
/// come only after their streams have broken off.
async fn streamable() -> Peer {
    let mut asked = String::new();
    let mut streams = Vec::new();
    Peer::start(move |request| match what(request).as_str() {
        "GET" if request.header("last-event-id").is_some() => sse(&event(&asked)),
        "GET" => {
            let (stream, pieces) = mpsc::unbounded_channel();
            let ping = event(r#"{"jsonrpc":"2.0","id":"ping-1","method":"ping"}"#);
            let first = format!("{SSE_HEAD}{}", chunk(&ping));
            stream.send(first.into_bytes()).unwrap();
            streams.push(stream);
            Answer::Pieces(pieces)
        }
        "tools/call" if request.text().contains("silent") => {
            let (stream, pieces) = mpsc::unbounded_channel();
            streams.push(stream);
            Answer::Pieces(pieces)
        }
        _ => old_server(request, |request| {
            asked = request.result(RESULT);
            sse("id: first\nretry: 1\ndata:\n\n")
        }),
    })
    .await
}

#[tokio::test]
async fn streamable_http_with_a_session_carries_them_in_every_post_get_and_delete() {
    let mut peer = streamable().await;
    let keyring = Keyring::new("one");
    let server = keyring.remote(&peer);
    assert_eq!(
        result(&server, from("a", r#"{"roots":{}}"#)).await,
        COMPLETE
    );
    let mut first = Vec::new();
    while !first.contains(&"response".to_owned()) || !first.contains(&"tools/call".to_owned()) {
        let request = peer.request().await;
        assert_eq!(token_of(&request, &peer), "one");
        first.push(what(&request));
    }
    first.extend(sent(&mut peer).into_iter().map(|(what, _)| what));
    first.sort();
    assert_eq!(
        first,
        [
            "GET",
            "GET",
            "initialize",
            "notifications/initialized",
            "response",
            "server/discover",
            "tools/call",
        ]
    );
    // A new token in the middle of the session is used from there on.
    keyring.change("two");
    result(&server, from("a", r#"{"roots":{}}"#)).await;
    server.close().await;
    assert_eq!(
        sent(&mut peer),
        each_with("two", &["tools/call", "GET", "DELETE"])
    );
}

#[tokio::test]
async fn a_cancellation_carries_them() {
    let mut peer = streamable().await;
    let keyring = Keyring::new("one");
    let server = keyring.remote(&peer);
    let running = server.call(call("tools/call", r#""name":"silent","#));
    soon(async {
        tokio::select! {
            outcome = running => panic!("the call ended: {outcome:?}"),
            _ = next(&mut peer, "tools/call") => keyring.change("two"),
        }
    })
    .await;
    let cancelled = next(&mut peer, "notifications/cancelled").await;
    assert_eq!(token_of(&cancelled, &peer), "two");
}

/// A server of HTTP+SSE that answers every request on its stream.
async fn two_endpoints() -> Peer {
    let mut stream: Option<mpsc::UnboundedSender<Vec<u8>>> = None;
    Peer::start(move |request| match what(request).as_str() {
        "GET" => {
            let (sender, pieces) = mpsc::unbounded_channel();
            let endpoint = chunk("event: endpoint\ndata: /messages?session=7\n\n");
            let first = format!("{SSE_HEAD}{endpoint}");
            sender.send(first.into_bytes()).unwrap();
            stream = Some(sender);
            Answer::Pieces(pieces)
        }
        _ if request.line.starts_with("POST /mcp ") => refused(request),
        name if name.starts_with("notifications/") => accepted(),
        name => {
            let result = match name {
                "initialize" => INITIALIZED.replace("2025-11-25", "2024-11-05"),
                _ => RESULT.to_owned(),
            };
            let message = chunk(&event(&request.result(&result)));
            let stream = stream.as_ref().expect("the stream was opened first");
            stream.send(message.into_bytes()).unwrap();
            accepted()
        }
    })
    .await
}

#[tokio::test]
async fn http_with_sse_carries_them_in_the_get_and_in_every_post() {
    let mut peer = two_endpoints().await;
    let keyring = Keyring::new("one");
    let server = keyring.remote(&peer);
    assert_eq!(result(&server, tool_call()).await, COMPLETE);
    let opening = [
        "server/discover",
        "initialize",
        "GET",
        "initialize",
        "notifications/initialized",
        "tools/call",
    ];
    assert_eq!(sent(&mut peer), each_with("one", &opening));
    keyring.change("two");
    assert_eq!(result(&server, tool_call()).await, COMPLETE);
    assert_eq!(sent(&mut peer), each_with("two", &["tools/call"]));
}

#[tokio::test]
async fn without_any_to_be_had_nothing_is_sent() {
    let mut peer = streamable().await;
    let keyring = Keyring::new("one");
    let server = keyring.remote(&peer);
    assert_eq!(result(&server, tool_call()).await, COMPLETE);
    peer.requests();
    keyring.lose();
    let error = failure(&server, tool_call()).await;
    assert_eq!(
        (error.kind(), error.retry(), error.to_string().as_str()),
        (Kind::Unauthorized, Retry::Never, "log in first")
    );
    let error = failure(&keyring.client(&peer), call("tools/list", "")).await;
    assert_eq!(error.to_string(), "log in first");
    keyring.change("two");
    server.close().await;
    // Nothing was sent that could have been canceled.
    assert_eq!(sent(&mut peer), each_with("two", &["DELETE"]));
}
