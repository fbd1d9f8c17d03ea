use std::convert::Infallible;
use std::future::pending;

use bytes::Bytes;
use callgate_mcp::transport::http::connect::Proxy;
use http::header::{
    ACCEPT_ENCODING, CONNECTION, DATE, HOST, LOCATION, PROXY_AUTHORIZATION, RETRY_AFTER, USER_AGENT,
};
use http::response::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use url::{Position, Url};

use crate::http_message::{MAX_BODY, Request, Response};

/// Answer on a connection.
pub(super) enum Answer {
    Response(Response),
    /// Redirect to this location.
    Redirect(HeaderValue),
}

/// Maximum bytes of a response head.
const MAX_HEAD: usize = 32 * 1024;

/// HTTP message of the request, with the whole URL and the credentials of the proxy that forwards it,
/// if one does; `None` if it is malformed.
pub(super) fn message(
    request: &Request,
    forwarding: Option<&Proxy>,
) -> Option<http::Request<Full<Bytes>>> {
    let url = &request.url;
    let (method, body) = match &request.body {
        None => (Method::GET, Bytes::new()),
        Some(body) => {
            let body = Bytes::copy_from_slice(body.expose().as_bytes());
            (Method::POST, body)
        }
    };
    let mut message = http::Request::new(Full::new(body));
    *message.method_mut() = method;
    *message.uri_mut() = match forwarding {
        None => target(url)?,
        Some(_) => url[..Position::AfterQuery].parse().ok()?,
    };
    let headers = message.headers_mut();
    if let Some(authorization) = forwarding.and_then(Proxy::authorization) {
        headers.insert(PROXY_AUTHORIZATION, authorization.clone());
    }
    headers.insert(HOST, url.authority().parse().ok()?);
    headers.insert(USER_AGENT, HeaderValue::from_static(PROGRAM));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    // Without this header, a server may choose any compression.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    for (name, value) in &request.headers {
        let mut value: HeaderValue = value.expose().parse().ok()?;
        value.set_sensitive(true);
        headers.insert(name.parse::<HeaderName>().ok()?, value);
    }
    Some(message)
}

/// Sends `message`, the only one on this connection, and reads the answer.
pub(super) async fn send<S>(
    stream: S,
    message: http::Request<Full<Bytes>>,
) -> Result<Answer, hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut sender, connection) = http1::Builder::new()
        .read_buf_exact_size(Some(MAX_HEAD))
        .handshake(TokioIo::new(stream))
        .await?;
    let exchange = async {
        let (head, body) = sender.send_request(message).await?.into_parts();
        match location(&head) {
            Some(location) => Ok(Answer::Redirect(location)),
            None => response(&head, body).await.map(Answer::Response),
        }
    };
    let driven = async {
        // The exchange itself reports how the connection ends.
        let _ = connection.await;
        pending::<Infallible>().await
    };
    tokio::select! {
        answer = exchange => answer,
        never = driven => match never {},
    }
}

/// User agent. Some firewalls refuse requests without one.
const PROGRAM: &str = concat!("callgate/", env!("CARGO_PKG_VERSION"));

/// Target of the request line.
fn target(url: &Url) -> Option<Uri> {
    url[Position::BeforePath..Position::AfterQuery].parse().ok()
}

/// Location of a redirect.
fn location(head: &Parts) -> Option<HeaderValue> {
    let redirects = matches!(head.status.as_u16(), 301 | 302 | 303 | 307 | 308);
    head.headers.get(LOCATION).filter(|_| redirects).cloned()
}

async fn response(head: &Parts, body: Incoming) -> Result<Response, hyper::Error> {
    let text = |name| text(&head.headers, name);
    Ok(Response {
        status: head.status.as_u16(),
        body: read(body).await?,
        dpop_nonce: text(DPOP_NONCE).map(str::to_owned),
        retry_after: text(RETRY_AFTER).and_then(|text| text.trim().parse().ok()),
        date: text(DATE).map(str::to_owned),
    })
}

const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// Reads the body, up to one byte more than the limit.
async fn read(mut body: Incoming) -> Result<Vec<u8>, hyper::Error> {
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        read.extend(data.iter().take(MAX_BODY + 1 - read.len()));
        if read.len() > MAX_BODY {
            break;
        }
    }
    Ok(read)
}
