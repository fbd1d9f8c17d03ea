//! Tunnels through HTTP proxies (RFC 9110, section 9.3.6).

use std::future::poll_fn;
use std::pin::pin;

use bytes::Bytes;
use http::header::{HOST, PROXY_AUTHORIZATION, USER_AGENT};
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::connect::Destination;
use super::proxy::{Proxy, ProxyError};

/// Maximum bytes of the response head of a proxy. A longer one is an error.
const MAX_HEAD: usize = 16 * 1024;

/// Opens a tunnel to `to` on a connection to `proxy`. Dropping the future closes the connection.
pub(super) async fn open(
    stream: TcpStream,
    proxy: &Proxy,
    to: &Destination,
) -> Result<TcpStream, ProxyError> {
    let request = connect_request(proxy, to).ok_or(ProxyError::Malformed)?;
    let (mut sender, mut connection) = http1::Builder::new()
        .read_buf_exact_size(Some(MAX_HEAD))
        .handshake::<_, Empty<Bytes>>(TokioIo::new(stream))
        .await
        .map_err(broken)?;
    let mut sending = pin!(sender.send_request(request));
    let response = tokio::select! {
        response = &mut sending => response,
        // The connection may learn of the tunnel, or end, before the response is handed over.
        _ = poll_fn(|cx| connection.poll_without_shutdown(cx)) => sending.await,
    };
    match response.map_err(broken)?.status() {
        status if status.is_success() => {}
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => return Err(ProxyError::Credentials),
        status => return Err(ProxyError::Refused(status.as_u16())),
    }
    let parts = connection.into_parts();
    // The server speaks only after the first message of the handshake, so these bytes are not its.
    if !parts.read_buf.is_empty() {
        let reason = "it sent bytes before the tunnel was used";
        return Err(ProxyError::Broken(reason.to_owned()));
    }
    Ok(parts.io.into_inner())
}

fn connect_request(proxy: &Proxy, to: &Destination) -> Option<Request<Empty<Bytes>>> {
    let authority = to.authority();
    let mut request = Request::new(Empty::new());
    *request.method_mut() = Method::CONNECT;
    *request.uri_mut() = authority.parse().ok()?;
    let headers = request.headers_mut();
    headers.insert(HOST, authority.try_into().ok()?);
    let agent = concat!("callgate/", env!("CARGO_PKG_VERSION"));
    headers.insert(USER_AGENT, HeaderValue::from_static(agent));
    if let Some(authorization) = proxy.authorization() {
        headers.insert(PROXY_AUTHORIZATION, authorization.clone());
    }
    Some(request)
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
fn broken(error: hyper::Error) -> ProxyError {
    ProxyError::Broken(error.to_string())
}
