//! The endpoint as a service of another server.

use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use callgate_mcp::transport::http::server::{Endpoint, Guard, HttpServerConfig, RemoteAddress};
use http_body_util::{BodyExt, Full};
use tower_service::Service as _;

use super::post::META;
use super::source::{result, told};

fn request(host: &str) -> http::request::Builder {
    http::Request::post("/mcp")
        .header("host", host)
        .header("content-type", "application/json")
        .header("accept", "application/json")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "x")
}

fn message() -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{{META}}}}}"#)
}

async fn ask(
    mut endpoint: Endpoint,
    request: http::Request<impl http_body::Body + Send + 'static>,
) -> (u16, String) {
    let response = endpoint.call(request).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn an_endpoint_answers_requests_of_any_server() {
    let endpoint = Endpoint::new(told(), HttpServerConfig::default());
    let address: SocketAddr = "192.0.2.7:50000".parse().unwrap();
    let request = request("localhost:1234")
        .extension(RemoteAddress(address))
        .body(Full::new(Bytes::from(message())))
        .unwrap();
    let (status, body) = ask(endpoint.clone(), request).await;
    assert_eq!((status, &result(&body)["ip"]), (200, &"192.0.2.7".into()));
    let hyper = hyper::service::Service::call(
        &endpoint,
        self::request("127.0.0.1")
            .body(Full::new(Bytes::from(message())))
            .unwrap(),
    );
    assert_eq!(hyper.await.unwrap().status(), 200);
}

#[tokio::test]
async fn an_endpoint_checks_hosts_and_bodies_itself() {
    let mut config = HttpServerConfig::default();
    config.guard = {
        let mut guard = Guard::default();
        guard.hosts = vec!["mcp.example.com".to_owned()];
        guard
    };
    let endpoint = Endpoint::new(told(), config.clone());
    let status = async |endpoint: &Endpoint, host: &str| {
        let request = request(host).body(Full::new(Bytes::from(message())));
        ask(endpoint.clone(), request.unwrap()).await.0
    };
    assert_eq!(status(&endpoint, "mcp.example.com").await, 200);
    assert_eq!(status(&endpoint, "[::1]:9").await, 200);
    assert_eq!(status(&endpoint, "evil.example.com").await, 403);

    let mut small = config;
    small.limits.body_bytes = 10;
    let small = Endpoint::new(told(), small);
    assert_eq!(status(&small, "mcp.example.com").await, 413);
    let broken = request("localhost").body(Broken).unwrap();
    assert_eq!(ask(endpoint, broken).await.0, 400);
}

/// A body that fails.
struct Broken;

impl http_body::Body for Broken {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        Poll::Ready(Some(Err("cut")))
    }
}
