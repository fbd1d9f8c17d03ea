use std::io;
use std::sync::Arc;

use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::config::HttpServerLimits;
use super::connections::Requests;
use super::http1_guard::GuardedStream;
use super::socket::Stream;

/// Accepts TLS connections, and serves those that agree on HTTP/2.
#[derive(Clone)]
pub(super) struct Acceptor {
    tls: TlsAcceptor,
    http2: http2::Builder<TokioExecutor>,
}

/// Maximum bytes of a response that are buffered for one request.
const MAX_SEND_BUFFER: usize = 64 * 1024;

impl Acceptor {
    /// Accepts connections with `config`, which offers HTTP/2 and HTTP/1.1 unless it says otherwise.
    pub(super) fn new(mut config: ServerConfig, limits: &HttpServerLimits) -> Self {
        if config.alpn_protocols.is_empty() {
            config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        }
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        http2
            .timer(TokioTimer::new())
            .max_concurrent_streams(limits.streams)
            .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
            .max_send_buf_size(MAX_SEND_BUFFER);
        Self {
            tls: TlsAcceptor::from(Arc::new(config)),
            http2,
        }
    }

    /// Performs the TLS handshake. Its time limit is that of a head, since no head has arrived yet.
    pub(super) async fn accept(&self, stream: Stream) -> io::Result<TlsStream<Stream>> {
        self.tls.accept(stream).await
    }

    /// Serves an HTTP/2 connection until it ends, or until its requests have ended and the server
    /// shuts down.
    pub(super) async fn serve_http2(&self, stream: TlsStream<Stream>, requests: Arc<Requests>) {
        let mut shutdown = requests.endpoint.draining().begun();
        let stream = GuardedStream::new(stream, None, requests.health.clone());
        let service = service_fn(move |request| requests.clone().answer(request));
        let connection = self.http2.serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = &mut shutdown => {
                // The client is told to open no more streams. Those that are open go on, until the drain of
                // the listener ends.
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "connection ended early");
        }
    }
}

/// True if the handshake agreed on HTTP/2.
pub(super) fn speaks_http2(stream: &TlsStream<Stream>) -> bool {
    let (_, session) = stream.get_ref();
    session.alpn_protocol() == Some(b"h2")
}
