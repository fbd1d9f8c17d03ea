//! The floor of a relay: hyper on both sides, an id of its own for each hop, and all else as it came.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use callgate_bench::listen;
use callgate_bench::upstream::{Answer, BareHttp};
use callgate_bench::workload::Era;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Mutex;

#[tokio::main]
async fn main() -> Result<()> {
    let upstream = std::env::args().nth(1).context("usage: bare_relay URL")?;
    let relay = Arc::new(Relay {
        upstream: Mutex::new(BareHttp::connect(&upstream, Era::Stateless).await?),
        next_id: AtomicU64::new(1),
    });
    let listener = listen::listen().await?;
    loop {
        let stream = listen::accept(&listener).await?;
        let relay = relay.clone();
        tokio::spawn(async move {
            let serve = service_fn(|request| relay.serve(request));
            http1::Builder::new()
                .serve_connection(TokioIo::new(stream), serve)
                .await
        });
    }
}

struct Relay {
    upstream: Mutex<BareHttp>,
    next_id: AtomicU64,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: &'a RawValue,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

impl Relay {
    async fn serve(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let mut response = match self.relay(request).await {
            Ok(reply) => Response::new(Full::from(reply)),
            Err(_) => {
                let mut refused = Response::default();
                *refused.status_mut() = StatusCode::BAD_GATEWAY;
                refused
            }
        };
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        Ok(response)
    }

    async fn relay(&self, request: Request<Incoming>) -> Result<Vec<u8>> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let call: Envelope<'_> = serde_json::from_slice(&body)?;
        let params: Params<'_> = serde_json::from_str(call.params.get())?;
        let is_header = |name, value: &str| head.headers.get(name).is_some_and(|own| own == value);
        ensure!(
            is_header("mcp-method", &call.method) && is_header("mcp-name", &params.name),
            "a header differs from the body"
        );
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut forward = Vec::with_capacity(body.len() + 32);
        forward.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        serde_json::to_writer(&mut forward, &id)?;
        forward.extend_from_slice(b",\"method\":");
        serde_json::to_writer(&mut forward, &call.method)?;
        forward.extend_from_slice(b",\"params\":");
        forward.extend_from_slice(call.params.get().as_bytes());
        forward.push(b'}');
        let mut upstream = self.upstream.lock().await;
        let answer = upstream.post(&call.method, &params.name, forward.into());
        let answer = answer.await?;
        let answer: Answer<'_> = serde_json::from_slice(&answer)?;
        ensure!(answer.id.get().parse::<u64>()? == id, "another id");
        let result = answer.result.get().as_bytes();
        let mut reply = Vec::with_capacity(result.len() + 64);
        reply.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        reply.extend_from_slice(call.id.get().as_bytes());
        reply.extend_from_slice(b",\"result\":");
        reply.extend_from_slice(result);
        reply.push(b'}');
        Ok(reply)
    }
}
