use std::convert::Infallible;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::exchange::{Shared, exchange};
use super::framing::Framing;
use super::tap::Tap;
use super::vitals::Vitals;

/// The settings of the protocol that all connections of a server share.
pub(super) fn protocol(header_bytes: usize) -> http1::Builder {
    let mut protocol = http1::Builder::new();
    protocol
        // Slow heads are found by their vitals, at no cost to fast ones.
        .header_read_timeout(None)
        .max_header_size(header_bytes)
        .max_buf_size(MAX_BUFFER.max(header_bytes));
    protocol
}

/// The most bytes that wait on a connection in each direction.
const MAX_BUFFER: usize = 64 * 1024;

/// Serves a connection until it ends. Dropping the future closes it and cancels its call.
pub(super) async fn serve(
    stream: TcpStream,
    protocol: http1::Builder,
    shared: Arc<Shared>,
    vitals: Arc<Vitals>,
) {
    let framing = Framing::new(shared.config.limits.header_bytes);
    let tap = Tap::new(stream, framing, vitals.clone());
    let service = service_fn(move |request| {
        let exchange = exchange(shared.clone(), vitals.clone(), request);
        async move { Ok::<_, Infallible>(exchange.await) }
    });
    let connection = protocol.serve_connection(TokioIo::new(tap), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "connection ended early");
    }
}
