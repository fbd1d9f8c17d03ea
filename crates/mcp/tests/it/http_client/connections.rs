//! Connections: made, used again and given up.

use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::transport::http::client::{HttpConfig, ModernHttpClient};
use callgate_mcp::{Kind, Retry, Service};
use futures_util::future::join;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::peer::{
    Answer, CHUNKS_END, Peer, SSE_HEAD, call, chunk, event, failure, http, json, result, run, soon,
    sse,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_calls_use_one_connection() {
    let mut count = 0;
    let peer = Peer::start(move |request| {
        count += 1;
        match count % 2 {
            0 => json(&request.result("{}")),
            _ => http(
                "400 Bad Request",
                "application/json",
                &request.error(-32602),
            ),
        }
    })
    .await;
    let client = peer.client();
    for _ in 0..100 {
        run(&client, call("tools/list", "")).await.ok();
    }
    assert_eq!(peer.connections(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_has_ended_gives_its_connection_back() {
    let peer = Peer::start(|request| sse(&event(&request.result("{}")))).await;
    let client = peer.client();
    for _ in 0..100 {
        run(&client, call("tools/list", "")).await.unwrap();
    }
    // A few may still be on their way back when the next call wants one.
    assert!(peer.connections() < 10, "{}", peer.connections());
}

#[tokio::test]
async fn a_stream_that_ends_a_little_late_gives_its_connection_back() {
    let (pieces, receiver) = mpsc::unbounded_channel::<Vec<u8>>();
    let mut receiver = Some(receiver);
    let mut silent = Vec::new();
    let mut peer = Peer::start(move |_| {
        Answer::Pieces(receiver.take().unwrap_or_else(|| {
            let (never, held) = mpsc::unbounded_channel();
            silent.push(never);
            held
        }))
    })
    .await;
    let client = Arc::new(peer.client());
    let answered = async {
        let request = peer.request().await;
        let stream = format!("{SSE_HEAD}{}", chunk(&event(&request.result("{}"))));
        pieces.send(stream.into_bytes()).unwrap();
    };
    let call_and_answer = join(result(&client, call("tools/list", "")), answered);
    soon(call_and_answer).await;

    pieces.send(CHUNKS_END.as_bytes().to_vec()).unwrap();
    drop(pieces);
    // Every other connection is taken for good, so a call gets this one as soon as it is back.
    soon(async {
        loop {
            let client = client.clone();
            tokio::spawn(async move { client.call(call("tools/list", "")).await });
            if peer.request().await.connection == 1 {
                break;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_server_that_closes_every_connection_is_no_trouble() {
    let peer = Peer::start(|request| {
        let body = request.result("{}");
        Answer::WriteAndClose(
            format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\n\r\n{body}"
            )
            .into_bytes(),
        )
    })
    .await;
    let client = peer.client();
    for _ in 0..3 {
        assert_eq!(result(&client, call("tools/list", "")).await, "{}");
    }
    assert_eq!(peer.connections(), 3);
}

#[tokio::test]
async fn a_server_that_is_not_there_may_be_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp?key=secret", listener.local_addr().unwrap());
    drop(listener);
    let client = ModernHttpClient::new(&url, HttpConfig::new("gone")).unwrap();
    let error = failure(&client, call("tools/list", "")).await;
    assert_eq!((error.kind(), error.retry()), (Kind::Connect, Retry::Safe));
    let shown = url.replace("?key=secret", "");
    let text = error.to_string();
    assert!(
        text.starts_with(&format!("cannot connect to server `gone` at {shown}: ")),
        "{text}"
    );
}

#[tokio::test]
async fn a_handshake_that_never_ends_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap());
    let mut config = HttpConfig::new("silent");
    config.connect_timeout = Duration::from_millis(50);
    config.extra_roots = super::tls::roots();
    let client = ModernHttpClient::new(&url, config).unwrap();
    let error = failure(&client, call("tools/list", "")).await;
    assert_eq!((error.kind(), error.retry()), (Kind::Connect, Retry::Safe));
    assert_eq!(
        error.to_string(),
        format!("cannot connect to server `silent` at {url}: no connection within 50ms")
    );
}

#[tokio::test]
async fn a_url_that_cannot_be_used_is_refused_at_once() {
    for (url, text) in [
        (
            "ftp://host/mcp",
            "the URL of the server must start with `http://` or `https://`",
        ),
        (
            "http://user:pass@host/mcp",
            "the URL of the server must not contain a user name or password; use a header",
        ),
        ("not a url", "the URL of the server is malformed"),
    ] {
        let error = ModernHttpClient::new(url, HttpConfig::new("bad")).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (Kind::Connect, text)
        );
    }
}
