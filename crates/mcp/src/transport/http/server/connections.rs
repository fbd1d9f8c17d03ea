use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::{Instant, interval, sleep};

use super::body::ResponseBody;
use super::config::HttpServerLimits;
use super::connection_health::{ConnectionHealth, HealthWatch};
use super::endpoint::Endpoint;
use super::http1_guard::{GuardedStream, HeadScanner};
use super::response::{self, Refusal};
use super::socket::Stream;
#[cfg(feature = "server-tls")]
use super::tls;

/// Open connections of a listener, within limits.
pub(super) struct Connections {
    endpoint: Endpoint,
    protocols: Protocols,
    tasks: JoinSet<()>,
    open: HashMap<Id, OpenConnection>,
    per_peer: HashMap<IpAddr, usize>,
}

struct OpenConnection {
    peer: Option<IpAddr>,
    health: Arc<ConnectionHealth>,
    watch: HealthWatch,
    task: AbortHandle,
}

/// Interval of the checks of all connections while the server drains.
const DRAIN_CHECK: Duration = Duration::from_millis(10);

impl Connections {
    pub(super) fn new(endpoint: Endpoint, protocols: Protocols) -> Self {
        Self {
            endpoint,
            protocols,
            tasks: JoinSet::new(),
            open: HashMap::new(),
            per_peer: HashMap::new(),
        }
    }

    /// Serves a connection in a task of its own, unless there are too many.
    pub(super) fn add(&mut self, stream: Stream, address: Option<SocketAddr>) {
        let peer = address.map(|address| address.ip().to_canonical());
        let limits = &self.endpoint.config().limits;
        let of_peer = peer.and_then(|peer| self.per_peer.get(&peer)).copied();
        let of_peer = of_peer.unwrap_or(0);
        if self.open.len() >= limits.connections || of_peer >= limits.connections_per_peer {
            refuse(stream);
            return;
        }
        let health = Arc::new(ConnectionHealth::new());
        let requests = Requests {
            endpoint: self.endpoint.clone(),
            address,
            health: health.clone(),
        };
        let connection = serve(stream, self.protocols.clone(), requests);
        let task = self.tasks.spawn(connection);
        if let Some(peer) = peer {
            self.per_peer.insert(peer, of_peer + 1);
        }
        let open = OpenConnection {
            peer,
            watch: HealthWatch::new(&health),
            health,
            task,
        };
        self.open.insert(open.task.id(), open);
    }

    /// Waits until a connection has ended; forever if there is none.
    pub(super) async fn ended(&mut self) {
        match self.tasks.join_next_with_id().await {
            Some(ended) => self.remove(&ended),
            None => std::future::pending().await,
        }
    }

    fn remove(&mut self, ended: &Result<(Id, ()), JoinError>) {
        let id = match ended {
            Ok((id, ())) => *id,
            Err(error) => error.id(),
        };
        let Some(OpenConnection {
            peer: Some(peer), ..
        }) = self.open.remove(&id)
        else {
            return;
        };
        if let Some(count) = self.per_peer.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                self.per_peer.remove(&peer);
            }
        }
    }

    /// Closes the connections that have exceeded a time limit.
    pub(super) fn close_overdue(&mut self, now: Instant) {
        let limits = &self.endpoint.config().limits;
        for open in self.open.values_mut() {
            if open.watch.is_overdue(&open.health, now, limits) {
                open.task.abort();
            }
        }
    }

    /// Closes connections as they become idle, and all of them when the time is up.
    pub(super) async fn drain(mut self) {
        let mut end = std::pin::pin!(sleep(self.endpoint.config().limits.drain));
        let mut check = interval(DRAIN_CHECK);
        loop {
            tokio::select! {
                biased;
                ended = self.tasks.join_next_with_id() => match ended {
                    Some(ended) => self.remove(&ended),
                    None => return,
                },
                () = &mut end => return self.tasks.shutdown().await,
                now = check.tick() => self.close_idle(now),
            }
        }
    }

    fn close_idle(&mut self, now: Instant) {
        for open in self.open.values_mut() {
            if open.watch.is_idle(&open.health, now) {
                open.task.abort();
            }
        }
    }
}

/// Answers that there are too many connections, as far as a peer without TLS can read it.
fn refuse(mut stream: Stream) {
    const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
        connection: close\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n";
    // Best effort: a new connection has room for this much, and nothing waits for the peer.
    let _ = stream.write(BUSY).now_or_never();
}

/// Protocols that the connections of a listener speak.
#[derive(Clone)]
pub(super) struct Protocols {
    http1: http1::Builder,
    #[cfg(feature = "server-tls")]
    tls: Option<tls::Acceptor>,
}

/// The requests of one connection.
#[derive(Clone)]
pub(super) struct Requests {
    pub(super) endpoint: Endpoint,
    pub(super) health: Arc<ConnectionHealth>,
    address: Option<SocketAddr>,
}

impl Requests {
    /// Answers one request. Dropping the future cancels it.
    ///
    /// Not by the service that `Endpoint` implements itself: that one would box each future.
    pub(super) async fn answer(
        self,
        request: Request<Incoming>,
    ) -> Result<Response<ResponseBody>, Infallible> {
        self.health.begin_exchange();
        let mut response = if self.health.is_ambiguous() {
            response::refuse(Refusal::Ambiguous)
        } else {
            self.endpoint.answer(self.address, request).await
        };
        response.body_mut().reports_to(self.health);
        Ok(response)
    }
}

/// Maximum bytes that are buffered on a connection in each direction.
const MAX_BUFFER: usize = 64 * 1024;

impl Protocols {
    pub(super) fn new(limits: &HttpServerLimits) -> Self {
        let mut http1 = http1::Builder::new();
        http1
            // The listener finds slow heads by their health, at no cost to fast ones.
            .header_read_timeout(None)
            .max_header_size(limits.header_bytes)
            .max_buf_size(MAX_BUFFER.max(limits.header_bytes));
        Self {
            http1,
            #[cfg(feature = "server-tls")]
            tls: None,
        }
    }

    /// Accepts TLS connections with `config`, and nothing else.
    #[cfg(feature = "server-tls")]
    pub(super) fn with_tls(
        mut self,
        config: rustls::ServerConfig,
        limits: &HttpServerLimits,
    ) -> Self {
        self.tls = Some(tls::Acceptor::new(config, limits));
        self
    }
}

/// Serves a connection until it ends. Dropping the future closes it and cancels its calls.
async fn serve(stream: Stream, protocols: Protocols, requests: Requests) {
    #[cfg(feature = "server-tls")]
    if let Some(acceptor) = &protocols.tls {
        return match acceptor.accept(stream).await {
            Ok(stream) if tls::speaks_http2(&stream) => {
                acceptor.serve_http2(stream, requests).await;
            }
            Ok(stream) => serve_http1(stream, protocols.http1, requests).await,
            Err(error) => tracing::debug!(%error, "TLS handshake failed"),
        };
    }
    serve_http1(stream, protocols.http1, requests).await;
}

async fn serve_http1<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
    stream: S,
    protocol: http1::Builder,
    requests: Requests,
) {
    let scanner = HeadScanner::new(requests.endpoint.config().limits.header_bytes);
    let stream = GuardedStream::new(stream, Some(scanner), requests.health.clone());
    let service = service_fn(move |request| requests.clone().answer(request));
    let connection = protocol.serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "connection ended early");
    }
}
