//! What is done about a request that the server refuses.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::transport::http::client::{HttpFailure, MAX_SENDS, Verdict};
use callgate_mcp::upstream::Era;
use callgate_mcp::{Kind, Retry, Service};
use tokio::sync::mpsc;

use super::keyring::{Keyring, locked_out, token_of};
use crate::http_client::peer::{
    Answer, Peer, Received, SSE_HEAD, call, chunk, event, failure, json, result, sse,
};
use crate::legacy_remote::old_server::{
    COMPLETE, INITIALIZED, RESULT, accepted, log, old_server, tool_call, what,
};

const CHALLENGE: &str = r#"Bearer error="invalid_token""#;

/// A refusal with a challenge.
fn refusal(status: &str, body: &str) -> Answer {
    let length = body.len();
    Answer::Write(
        format!(
            "HTTP/1.1 {status}\r\nwww-authenticate: {CHALLENGE}\r\ndpop-nonce: n-{length}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .into_bytes(),
    )
}

fn is_good(request: &Received) -> bool {
    request.header("authorization") == Some("Bearer good")
}

/// A keyring with a bad token, which finds the good one when it is refused.
fn learning() -> Arc<Keyring> {
    Keyring::deciding("bad", |keyring, _| {
        keyring.change("good");
        Ok(Verdict::SendAgain)
    })
}

#[tokio::test]
async fn a_refused_request_is_sent_again_with_new_credentials() {
    for status in ["401 Unauthorized", "403 Forbidden"] {
        let mut peer = Peer::start(move |request| match is_good(request) {
            true => json(&request.result("{}")),
            false => refusal(status, "sorry"),
        })
        .await;
        let keyring = learning();
        let client = keyring.client(&peer);
        assert_eq!(result(&client, tool_call()).await, "{}");
        let [first, second] = [peer.request().await, peer.request().await];
        assert_eq!(
            [token_of(&first, &peer), token_of(&second, &peer)],
            ["bad", "good"]
        );
        let same = |request: &Received| {
            let other = request.headers.iter();
            let other = other.filter(|(name, _)| name != "authorization");
            (
                request.connection,
                request.text().to_owned(),
                other.cloned().collect::<Vec<_>>(),
            )
        };
        assert_eq!(same(&first), same(&second));
        let seen = format!(
            "1 POST: Bearer bad {} {CHALLENGE} from 127.0.0.1",
            &status[..3]
        );
        assert_eq!(keyring.refusals(), [seen]);
        assert_eq!(keyring.observed(), [format!("{} n-5", &status[..3])]);
    }
}

#[tokio::test]
async fn a_request_is_sent_so_often_and_no_more() {
    let mut peer = Peer::start(|_| refusal("401 Unauthorized", "sorry")).await;
    let keyring = Keyring::deciding("bad", |_, _| Ok(Verdict::SendAgain));
    let error = failure(&keyring.client(&peer), tool_call()).await;
    assert_eq!(
        (error.kind(), error.retry()),
        (Kind::Unauthorized, Retry::Never)
    );
    assert_eq!(peer.requests().len(), MAX_SENDS as usize);
    assert_eq!(peer.connections(), 1);
    let attempts: Vec<String> = keyring
        .refusals()
        .iter()
        .map(|refusal| refusal.chars().take(1).collect())
        .collect();
    assert_eq!(attempts, ["1", "2", "3", "4", "5"]);
}

#[tokio::test]
async fn a_refusal_that_is_not_contested_reaches_the_caller_whole() {
    let mut peer = Peer::start(|_| refusal("401 Unauthorized", "sorry")).await;
    let keyring = Keyring::new("bad");
    let error = failure(&keyring.client(&peer), tool_call()).await;
    let source = error.source().unwrap();
    let failure = source.downcast_ref::<HttpFailure>().unwrap();
    assert_eq!(
        (
            failure.status,
            failure.www_authenticate.as_slice(),
            failure.body_excerpt.as_str()
        ),
        (401, [CHALLENGE.to_owned()].as_slice(), "sorry")
    );
    assert_eq!((peer.requests().len(), keyring.refusals().len()), (1, 1));
}

#[tokio::test]
async fn an_error_of_the_authorizer_takes_the_place_of_the_refusal() {
    let mut peer = Peer::start(|_| refusal("401 Unauthorized", "sorry")).await;
    let keyring = Keyring::deciding("bad", |_, _| Err(locked_out()));
    for _ in 0..2 {
        let error = failure(&keyring.client(&peer), tool_call()).await;
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (Kind::Unauthorized, "log in first")
        );
        assert_eq!(peer.requests().len(), 1);
    }
}

#[tokio::test]
async fn other_failures_are_none_of_its_business() {
    for status in [
        "400 Bad Request",
        "403 Forbidden",
        "404 Not Found",
        "407 Proxy Authentication Required",
        "500 Internal Server Error",
    ] {
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        let peer = Peer::always(&answer).await;
        let keyring = learning();
        failure(&keyring.client(&peer), tool_call()).await;
        assert_eq!(keyring.refusals(), [""; 0], "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_never_ends_costs_its_connection_and_nothing_else() {
    let endless = "HTTP/1.1 401 Unauthorized\r\ntransfer-encoding: chunked\r\n\r\n5\r\nsorry\r\n";
    let mut streams = Vec::new();
    let mut peer = Peer::start(move |request| match is_good(request) {
        true => json(&request.result("{}")),
        false => {
            let (stream, pieces) = mpsc::unbounded_channel();
            stream.send(endless.as_bytes().to_vec()).unwrap();
            streams.push(stream);
            Answer::Pieces(pieces)
        }
    })
    .await;
    let client = learning().client(&peer);
    assert_eq!(result(&client, tool_call()).await, "{}");
    peer.disconnected().await;
    assert_eq!(peer.connections(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_free_while_its_refusal_is_decided_about() {
    let peer = Peer::start(|request| match what(request).as_str() {
        "tools/call" => refusal("401 Unauthorized", "sorry"),
        _ => json(&request.result("{}")),
    })
    .await;
    let keyring = Keyring::new("bad");
    keyring.take_time(Duration::from_secs(15 * 60));
    let client = Arc::new(keyring.client(&peer));
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.call(tool_call()).await }
    });
    while keyring.refusals().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(result(&client, call("tools/list", "")).await, "{}");
    assert_eq!(peer.connections(), 1);
    assert!(waiting.await.unwrap().is_err());
}

#[tokio::test]
async fn a_long_refusal_is_read_only_so_far() {
    let long = "x".repeat(1 << 20);
    let peer = Peer::start(move |request| match is_good(request) {
        true => json(&request.result("{}")),
        // The client may hang up while it is being written.
        false => {
            let (stream, pieces) = mpsc::unbounded_channel();
            let head = format!(
                "HTTP/1.1 401 Unauthorized\r\ncontent-length: {}\r\n\r\n",
                long.len()
            );
            stream.send(head.into_bytes()).unwrap();
            stream.send(long.as_bytes()[..100_000].to_vec()).unwrap();
            Answer::Pieces(pieces)
        }
    })
    .await;
    let client = learning().client(&peer);
    assert_eq!(result(&client, tool_call()).await, "{}");
    assert_eq!(peer.connections(), 2);
}

#[tokio::test]
async fn the_search_for_the_era_is_not_confused_by_a_refusal() {
    let mut peer = Peer::start(|request| match is_good(request) {
        true => old_server(request, |request| json(&request.result(RESULT))),
        false => refusal("401 Unauthorized", ""),
    })
    .await;
    let server = learning().remote(&peer);
    assert_eq!(result(&server, tool_call()).await, COMPLETE);
    assert_eq!(
        log(&mut peer),
        [
            "server/discover",
            "server/discover",
            "initialize",
            "notifications/initialized",
            "tools/call"
        ]
    );
}

#[tokio::test]
async fn a_session_outlives_the_token_it_was_opened_with() {
    let mut current = "Bearer good";
    let mut peer = Peer::start(move |request| {
        if request.header("authorization") != Some(current) {
            return refusal("401 Unauthorized", "");
        }
        old_server(request, |request| {
            current = "Bearer better";
            json(&request.result(RESULT))
        })
    })
    .await;
    let keyring = Keyring::deciding("good", |keyring, _| {
        keyring.change("better");
        Ok(Verdict::SendAgain)
    });
    let server = keyring.remote(&peer);
    assert_eq!(result(&server, tool_call()).await, COMPLETE);
    log(&mut peer);
    assert_eq!(result(&server, tool_call()).await, COMPLETE);
    server.close().await;
    assert_eq!(log(&mut peer), ["tools/call", "tools/call", "DELETE"]);
    assert_eq!(keyring.refusals().len(), 1);
}

#[tokio::test]
async fn the_rest_of_a_stream_is_fetched_with_new_credentials() {
    let mut asked = String::new();
    let mut peer = Peer::start(move |request| match what(request).as_str() {
        "GET" if is_good(request) => sse(&event(&asked)),
        "GET" => refusal("401 Unauthorized", ""),
        _ => old_server(request, |request| {
            asked = request.result(RESULT);
            sse("id: first\nretry: 1\ndata:\n\n")
        }),
    })
    .await;
    assert_eq!(
        result(&learning().remote(&peer), tool_call()).await,
        COMPLETE
    );
    let sent = log(&mut peer);
    assert!(
        sent.ends_with(&["tools/call", "GET", "GET"].map(str::to_owned)),
        "{sent:?}"
    );
}

#[tokio::test]
async fn a_call_that_was_taken_is_never_safe_to_send_again() {
    let peer = Peer::start(|request| match what(request).as_str() {
        "GET" => refusal("401 Unauthorized", ""),
        _ => old_server(request, |_| sse("id: first\nretry: 1\ndata:\n\n")),
    })
    .await;
    let keyring = Keyring::deciding("bad", |_, _| Err(locked_out().retry_safe()));
    let error = failure(&keyring.remote(&peer), tool_call()).await;
    assert_eq!(
        (error.kind(), error.retry(), error.to_string().as_str()),
        (Kind::Unauthorized, Retry::Never, "log in first")
    );
}

/// A server of HTTP+SSE that wants the good token for everything.
async fn two_endpoints() -> Peer {
    let (stream, pieces) = mpsc::unbounded_channel::<Vec<u8>>();
    let first = chunk("event: endpoint\ndata: /messages\n\n");
    let first = format!("{SSE_HEAD}{first}");
    stream.send(first.into_bytes()).unwrap();
    let mut pieces = Some(pieces);
    Peer::start(move |request| {
        if !is_good(request) {
            return refusal("401 Unauthorized", "");
        }
        match what(request).as_str() {
            "GET" => Answer::Pieces(pieces.take().expect("one stream")),
            "notifications/initialized" => accepted(),
            name => {
                let result = match name {
                    "initialize" => INITIALIZED,
                    _ => RESULT,
                };
                let message = chunk(&event(&request.result(result)));
                stream.send(message.into_bytes()).unwrap();
                accepted()
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_stream_of_http_with_sse_is_opened_with_new_credentials() {
    let mut peer = two_endpoints().await;
    let server = learning().remote(&peer).assume_sse();
    assert_eq!(result(&server, tool_call()).await, COMPLETE);
    let opening = [
        "GET",
        "GET",
        "initialize",
        "notifications/initialized",
        "tools/call",
    ];
    assert_eq!(log(&mut peer), opening);
}

#[tokio::test(start_paused = true)]
async fn a_login_may_take_longer_than_the_server_timeout() {
    let streamable = || async {
        Peer::start(|request| match is_good(request) {
            true => old_server(request, |request| json(&request.result(RESULT))),
            false => refusal("401 Unauthorized", ""),
        })
        .await
    };
    let keyring = learning();
    keyring.take_time(Duration::from_secs(15 * 60));
    let (unknown, old, sse) = (
        streamable().await,
        streamable().await,
        two_endpoints().await,
    );
    for server in [
        keyring.remote(&unknown),
        keyring.remote(&old).assume(Era::OLD),
        keyring.remote(&sse).assume_sse(),
    ] {
        keyring.change("bad");
        let reply = server.call(tool_call()).await.unwrap();
        assert_eq!(reply.into_result().as_str(), COMPLETE);
        server.close().await;
    }
    assert_eq!(keyring.refusals().len(), 3);
}
