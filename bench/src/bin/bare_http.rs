//! The floor over HTTP: hyper and nothing else.

use std::convert::Infallible;

use anyhow::Result;
use bytes::Bytes;
use callgate_bench::echo::bare::Call;
use callgate_bench::listen;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;

#[tokio::main]
async fn main() -> Result<()> {
    let listener = listen::listen().await?;
    loop {
        let stream = listen::accept(&listener).await?;
        tokio::spawn(
            http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(serve)),
        );
    }
}

async fn serve(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(reply(request).await.unwrap_or_else(|_| {
        let mut refused = Response::new(Full::default());
        *refused.status_mut() = StatusCode::BAD_REQUEST;
        refused
    }))
}

async fn reply(request: Request<Incoming>) -> Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let call = Call::parse(&body)?;
    anyhow::ensure!(
        call.matches(
            header(&head.headers, "mcp-protocol-version"),
            header(&head.headers, "mcp-method"),
            header(&head.headers, "mcp-name"),
        ),
        "a header differs from the body"
    );
    let mut out = Vec::with_capacity(256);
    call.answer(&mut out)?;
    let mut response = Response::new(Full::new(Bytes::from(out)));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a [u8] {
    headers.get(name).map_or(&[], HeaderValue::as_bytes)
}
