use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::{Instant, interval, sleep, timeout};

use super::body::ResponseBody;
use super::config::HttpServerLimits;
use super::connection_health::{ConnectionHealth, HealthWatch};
use super::endpoint::Endpoint;
use super::http1_guard::{GuardedStream, HeadScanner};
use super::repoll::Repoll;
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
    unauthenticated: Unauthenticated,
    /// Connections that are refused, while their peers read the reason.
    refused: JoinSet<()>,
}

struct OpenConnection {
    peer: Option<IpAddr>,
    health: Arc<ConnectionHealth>,
    watch: HealthWatch,
    task: AbortHandle,
}

/// Connections on which no request has been authenticated when they were added, the oldest first.
/// Those that have ended or were authenticated since stay until the queue is full.
type Unauthenticated = VecDeque<Id>;

/// Maximum number of refused connections whose peers read the reason; more are closed at once.
const MAX_REFUSED: usize = 256;

/// Time that the peer of a refused connection has to send a request and to read the reason.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for which the rest of a body may be waited for before its connection gives way to another one. A
/// client that is refused is told to come back after this time.
const BODY_PATIENCE: Duration = Duration::from_secs(1);

/// Interval of the checks of all connections while the server drains. After its last response a connection is
/// closed at the second check.
const DRAIN_CHECK: Duration = Duration::from_millis(10);

impl Connections {
    pub(super) fn new(endpoint: Endpoint, protocols: Protocols) -> Self {
        Self {
            endpoint,
            protocols,
            tasks: JoinSet::new(),
            open: HashMap::new(),
            per_peer: HashMap::new(),
            unauthenticated: Unauthenticated::default(),
            refused: JoinSet::new(),
        }
    }

    /// Serves a connection in a task of its own, unless there are too many and none gives way.
    pub(super) fn add(&mut self, stream: Stream, address: Option<SocketAddr>) {
        // A client on IPv4 is the same peer on a socket for both families.
        let peer = address.map(|address| address.ip().to_canonical());
        if !self.make_room(peer) {
            return self.refuse(stream);
        }
        let health = Arc::new(ConnectionHealth::new());
        let requests = Arc::new(Requests {
            endpoint: self.endpoint.clone(),
            address,
            health: health.clone(),
        });
        let connection = serve(stream, self.protocols.clone(), requests);
        let task = self.tasks.spawn(connection);
        if let Some(peer) = peer {
            *self.per_peer.entry(peer).or_default() += 1;
        }
        let open = OpenConnection {
            peer,
            watch: HealthWatch::new(&health),
            health,
            task,
        };
        self.unauthenticated.push_back(open.task.id());
        self.open.insert(open.task.id(), open);
    }

    /// True if there is room for a connection of `peer`. To make room, the oldest connection gives way
    /// on which no request has been authenticated and none is being answered, else the one that has waited
    /// longest for the rest of a body, if it did for a while.
    ///
    /// So a peer that opens connections and is silent locks out only itself: a client that sends its
    /// request at once finds room, and keeps it.
    fn make_room(&mut self, peer: Option<IpAddr>) -> bool {
        let limits = &self.endpoint.config().limits;
        let of_peer = peer.and_then(|peer| self.per_peer.get(&peer)).copied();
        // The limit of the peer comes first, so that a peer at its own limit displaces no connection of
        // another.
        if of_peer.unwrap_or(0) >= limits.connections_per_peer {
            return self.close_oldest(|open| open.peer == peer);
        }
        if self.open.len() >= limits.connections {
            return self.close_oldest(|_| true);
        }
        let max = limits.unauthenticated_connections;
        if self.unauthenticated.len() >= max {
            // Only now: those that were authenticated since are still in the queue.
            let open = &self.open;
            let is_waiting = |id: &Id| open.get(id).is_some_and(OpenConnection::is_waiting);
            self.unauthenticated.retain(is_waiting);
        }
        // A connection that waits for a body has a caller, and is not one of these.
        self.unauthenticated.len() < max || self.close_silent(|_| true)
    }

    /// Closes the oldest connection that `may_close` selects and that can give way; `false` if there is
    /// none.
    fn close_oldest(&mut self, may_close: impl Fn(&OpenConnection) -> bool) -> bool {
        self.close_silent(&may_close) || self.close_slowest_body(may_close)
    }

    /// Closes the oldest connection on which no request has been authenticated and none is being answered.
    fn close_silent(&mut self, may_close: impl Fn(&OpenConnection) -> bool) -> bool {
        let gives_way = |id: &Id| {
            let open = self.open.get(id);
            open.is_some_and(|open| {
                may_close(open) && open.is_waiting() && !open.health.is_active()
            })
        };
        let Some(at) = self.unauthenticated.iter().position(gives_way) else {
            return false;
        };
        let Some(id) = self.unauthenticated.remove(at) else {
            return false;
        };
        self.close(id);
        true
    }

    /// Closes the connection that has waited longest for the rest of a body, if it did for a while. The
    /// caller is known by then, but the connection is of no more use than a silent one.
    fn close_slowest_body(&mut self, may_close: impl Fn(&OpenConnection) -> bool) -> bool {
        let Some(latest) = Instant::now().checked_sub(BODY_PATIENCE) else {
            return false;
        };
        let slow = self.open.values().filter(|open| may_close(open));
        let slow = slow.filter_map(|open| {
            let since = open.health.only_bodies_since()?;
            (since <= latest).then(|| (since, open.task.id()))
        });
        let Some((_, id)) = slow.min_by_key(|(since, _)| *since) else {
            return false;
        };
        self.close(id);
        true
    }

    fn close(&mut self, id: Id) {
        if let Some(open) = self.open.get(&id) {
            open.task.abort();
        }
        // At once, so that its place is free before the task has ended; `ended` then finds nothing to remove.
        self.forget(id);
    }

    /// Refuses a connection, and gives its peer a moment to read why.
    fn refuse(&mut self, stream: Stream) {
        // A set counts tasks that have ended until their results are taken.
        while self.refused.try_join_next().is_some() {}
        if self.refused.len() < MAX_REFUSED {
            self.refused.spawn(refuse(stream));
        }
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
        self.forget(id);
    }

    fn forget(&mut self, id: Id) {
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
                // Ended connections first, so that the last one ends the drain even if the time is up.
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

impl OpenConnection {
    /// True if no request has been authenticated yet.
    fn is_waiting(&self) -> bool {
        !self.health.is_authenticated()
    }
}

/// Answers that there are too many connections, as far as a peer without TLS can read it.
async fn refuse(stream: Stream) {
    const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
        connection: close\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n";
    // The guarded stream reads on for a moment after it is shut down: a connection that is closed with
    // unread input is reset, and the peer would lose the answer.
    let mut stream = GuardedStream::new(stream, None, Arc::new(ConnectionHealth::new()));
    // Nothing can be done for a peer that has left.
    let _ = timeout(REFUSAL_TIMEOUT, async {
        // Clients take an answer that comes before their request for a broken connection.
        stream.read_u8().await?;
        stream.write_all(BUSY).await?;
        stream.shutdown().await
    })
    .await;
}

/// Protocols that the connections of a listener speak.
#[derive(Clone)]
pub(super) struct Protocols {
    http1: http1::Builder,
    #[cfg(feature = "server-tls")]
    tls: Option<tls::Acceptor>,
}

/// The requests of one connection.
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
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<ResponseBody>, Infallible> {
        let exchange = self.health.begin_exchange();
        // The parser accepts such a head, which a proxy may have read in another way.
        let mut response = if self.health.is_ambiguous() {
            response::refuse(Refusal::Ambiguous)
        } else {
            let health = Some(&*self.health);
            self.endpoint.answer(self.address, health, request).await
        };
        response.body_mut().ends(exchange);
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
async fn serve(stream: Stream, protocols: Protocols, requests: Arc<Requests>) {
    let Protocols { http1, .. } = protocols;
    #[cfg(feature = "server-tls")]
    if let Some(acceptor) = protocols.tls {
        // Boxed: a connection without TLS need not have the memory for it.
        return Box::pin(serve_tls(stream, acceptor, http1, requests)).await;
    }
    serve_http1(stream, http1, requests).await;
}

#[cfg(feature = "server-tls")]
async fn serve_tls(
    stream: Stream,
    acceptor: tls::Acceptor,
    http1: http1::Builder,
    requests: Arc<Requests>,
) {
    match acceptor.accept(stream).await {
        Ok(stream) if tls::speaks_http2(&stream) => acceptor.serve_http2(stream, requests).await,
        Ok(stream) => serve_http1(stream, http1, requests).await,
        Err(error) => tracing::debug!(%error, "TLS handshake failed"),
    }
}

async fn serve_http1<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
    stream: S,
    protocol: http1::Builder,
    requests: Arc<Requests>,
) {
    let scanner = HeadScanner::new(requests.endpoint.config().limits.header_bytes);
    let stream = GuardedStream::new(stream, Some(scanner), requests.health.clone());
    let service = service_fn(move |request| requests.clone().answer(request));
    let connection = protocol.serve_connection(TokioIo::new(stream), service);
    if let Err(error) = Repoll::new(connection).await {
        tracing::debug!(%error, "connection ended early");
    }
}
