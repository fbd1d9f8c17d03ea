//! Allocations of Callgate when it relays a large result.

use std::convert::Infallible;
use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::echo::bare::Call;
use crate::listen::accept;
use crate::report::RelayCost;
use crate::valgrind::Valgrind;
use crate::variant::Transport;

/// The size of the text that makes the relayed result large, in bytes.
const PAYLOAD: usize = 64 * 1024;

/// Counts the cost of relaying one large result: Callgate's HTTP server with its HTTP client behind
/// it.
///
/// The upstream runs in this process, so that its own allocations do not count.
pub async fn cost(valgrind: &Valgrind, programs: &Path) -> Result<RelayCost> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let upstream = format!("http://{}/mcp", listener.local_addr()?);
    let mut tasks = JoinSet::new();
    tasks.spawn(serve(listener));
    let command = [
        programs.join("ours_relay").into_os_string(),
        OsString::from(upstream),
    ];
    let cost = valgrind.cost(&command, Transport::Http, 1).await?;
    Ok(RelayCost {
        payload: PAYLOAD,
        cost,
    })
}

async fn serve(listener: TcpListener) -> Result<()> {
    let mut connections = JoinSet::new();
    loop {
        let stream = accept(&listener).await?;
        let connection = http1::Builder::new();
        connections.spawn(connection.serve_connection(TokioIo::new(stream), service_fn(answer)));
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let reply = async { large_reply(&request.into_body().collect().await?.to_bytes()) };
    let mut response = match reply.await {
        Ok(reply) => Response::new(Full::from(reply)),
        Err(_) => {
            let mut refused = Response::default();
            *refused.status_mut() = StatusCode::BAD_REQUEST;
            refused
        }
    };
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// Answers the echo tool with a second content block of the payload's size.
fn large_reply(request: &[u8]) -> Result<String> {
    let mut reply = Vec::new();
    Call::parse(request)?.answer(&mut reply)?;
    let reply = String::from_utf8(reply)?;
    let (echo, meta) = reply
        .rsplit_once("],")
        .context("a result ends with its metadata")?;
    let text = "x".repeat(PAYLOAD);
    Ok(format!(
        "{echo},{{\"type\":\"text\",\"text\":\"{text}\"}}],{meta}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::{FIRST_ID, Request, check_reply};

    #[test]
    fn the_upstream_answers_with_the_payload_behind_the_echo() {
        let mut request = Request::line();
        let reply = large_reply(request.with_id(FIRST_ID)).unwrap();
        check_reply(reply.as_bytes(), FIRST_ID).unwrap();
        let reply: serde_json::Value = serde_json::from_str(&reply).unwrap();
        let text = reply.pointer("/result/content/1/text").unwrap();
        assert_eq!(text.as_str().unwrap().len(), PAYLOAD);
    }
}
