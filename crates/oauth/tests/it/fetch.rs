//! Requests of a login against servers on this machine.

mod addresses;
mod peer;
mod proxies;
mod redirects;
mod tls;
mod trouble;

use std::sync::{Arc, LazyLock};

use callgate_oauth::Secret;
use callgate_oauth::fetch::{Config, Fetcher, Resolve};
use callgate_oauth::guard::{Guard, Network};
use callgate_oauth::http_message::{Request, Response};
use peer::Peer;

const LOOPBACK: Guard = Guard::public().allow(Network::Loopback);

fn get(url: &str) -> Request {
    let mut request = Request::new(url.parse().expect("a URL"));
    request.headers = vec![("accept", Secret::new("application/json"))];
    request
}

fn post(url: &str, body: &str) -> Request {
    let mut request = get(url);
    request.body = Some(Secret::new(body));
    request
}

/// Shared by all tests, because the certificates of the platform take long to load.
fn fetcher() -> Fetcher {
    static FETCHER: LazyLock<Fetcher> =
        LazyLock::new(|| Fetcher::new(Config::default()).expect("TLS works"));
    FETCHER.clone()
}

fn fetcher_with(resolver: Arc<dyn Resolve>) -> Fetcher {
    Fetcher::new({
        let mut config = Config::default();
        config.resolver = resolver;
        config
    })
    .expect("TLS works")
}

#[tokio::test]
async fn a_document_is_fetched() {
    let peer = Peer::answering("200 OK\r\ncontent-length: 2", "{}").await;
    let mut request = get(&peer.url("/a/b?c=%20d"));
    let version = ("mcp-protocol-version", Secret::new("2026-07-28"));
    request.headers.push(version);
    let response = fetcher().fetch(LOOPBACK, &request).await.expect("it comes");
    assert_eq!(response, Response::new(200, "{}"));
    let expect = format!(
        "GET /a/b?c=%20d HTTP/1.1\r\nhost: {}\r\nuser-agent: callgate/{}\r\nconnection: close\r\naccept-encoding: identity\r\n\
         accept: application/json\r\nmcp-protocol-version: 2026-07-28\r\n\r\n",
        peer.address,
        env!("CARGO_PKG_VERSION"),
    );
    assert_eq!(peer.requests(), [expect]);
}

#[tokio::test]
async fn a_form_is_posted() {
    let peer = Peer::answering("400 Bad Request", "{\"error\":\"invalid_grant\"}").await;
    let mut request = post(&peer.url("/token"), "grant_type=refresh_token");
    request.headers = vec![("authorization", Secret::new("Basic eDp5"))];
    let response = fetcher().fetch(LOOPBACK, &request).await.expect("it comes");
    let expect = Response::new(400, "{\"error\":\"invalid_grant\"}");
    assert_eq!(response, expect);
    let expect = format!(
        "POST /token HTTP/1.1\r\nhost: {}\r\nuser-agent: callgate/{}\r\nconnection: close\r\naccept-encoding: identity\r\n\
         authorization: Basic eDp5\r\ncontent-length: 24\r\n\r\ngrant_type=refresh_token",
        peer.address,
        env!("CARGO_PKG_VERSION"),
    );
    assert_eq!(peer.requests(), [expect]);
}

#[tokio::test]
async fn some_headers_matter() {
    for (head, dpop_nonce, retry_after) in [
        (
            "DPoP-Nonce: n-1\r\nRetry-After: 120",
            Some("n-1"),
            Some(120),
        ),
        ("retry-after: 0", None, Some(0)),
        ("retry-after: Wed, 21 Oct 2026 07:28:00 GMT", None, None),
        ("retry-after: -1\r\ndpop-nonce: \u{e9}", None, None),
    ] {
        let peer = Peer::answering(&format!("429 Too Many Requests\r\n{head}"), "").await;
        let request = get(&peer.url("/"));
        let response = fetcher().fetch(LOOPBACK, &request).await.expect("it comes");
        let mut expect = Response::new(429, "");
        expect.dpop_nonce = dpop_nonce.map(str::to_owned);
        expect.retry_after = retry_after;
        assert_eq!(response, expect, "{head}");
    }
}

#[tokio::test]
async fn a_request_that_cannot_be_written_is_not_sent() {
    let peer = Peer::answering("200 OK", "").await;
    let mut request = get(&peer.url("/"));
    let smuggled = Secret::new("Bearer canary\r\nx: y");
    request.headers = vec![("authorization", smuggled)];
    let error = fetcher()
        .fetch(LOOPBACK, &request)
        .await
        .expect_err("it cannot be sent");
    let expect = format!("cannot send a malformed request to http://{}", peer.address);
    assert_eq!((error.to_string(), error.is_transient()), (expect, false));
    assert_eq!(peer.connections(), 0);
}
