use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::PROXY_AUTHORIZATION;
use http::response::Parts;
use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use tokio::time::Instant;

use super::body::BodyStream;
use super::config::HttpConfig;
use super::connection::Connection;
use super::endpoint::Endpoint;
use super::request::Body;
use crate::mutex::Mutex;
use crate::transport::http::connect::{ConnectError, Connector, Destination, Proxy};

/// Pool of the connections to one server.
///
/// A connection returns to the pool when the body of its response was read to the end, and is closed
/// if the body is dropped before.
pub(super) struct Pool {
    connector: Connector,
    server: Destination,
    /// Scheme and authority of all requests without TLS, for a proxy that forwards them.
    forwarded: Option<(Scheme, Authority)>,
    idle: Arc<IdleConnections>,
    /// A clone is held for each open connection, idle or in use.
    open: Arc<()>,
}

/// Failure of a request without a response.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// There is a connection, but HTTP did not start on it.
    #[error(transparent)]
    Http(hyper::Error),
    /// The connection ended before it took the request.
    #[error(transparent)]
    Unwritten(hyper::Error),
    /// The connection ended with the request or a part of it.
    #[error(transparent)]
    Lost(hyper::Error),
}

impl Pool {
    pub(super) fn new(endpoint: &Endpoint, config: &HttpConfig) -> Result<Self, rustls::Error> {
        let (host, port) = endpoint.host_and_port();
        let uri = endpoint.uri();
        let origin = uri.scheme().cloned().zip(uri.authority().cloned());
        Ok(Self {
            connector: Connector::new(&config.extra_roots, config.connect_timeout)?
                .with_proxies(config.proxies.clone()),
            forwarded: origin.filter(|_| !endpoint.is_https()),
            server: Destination::new(host, port, endpoint.is_https()),
            idle: Arc::default(),
            open: Arc::default(),
        })
    }

    /// Opens a connection and closes it, unless one is open. Dropping the future is safe.
    ///
    /// One that is in use counts: the server answers there, however long that takes.
    pub(super) async fn check(&self) -> Result<(), SendError> {
        if Arc::strong_count(&self.open) == 1 {
            self.connect().await?;
        }
        Ok(())
    }

    /// Sends a request. Dropping the future closes the connection that carries it.
    pub(super) async fn send(
        &self,
        mut request: Request<Body>,
    ) -> Result<(Parts, BodyStream), SendError> {
        self.prepare(&mut request);
        // The pool of hyper-util would open a second connection whenever a call comes before that of the last
        // one is marked as idle, and would spawn a task for each request.
        while let Some(mut connection) = self.idle.take().await {
            match connection.sender.try_send_request(request).await {
                Ok(response) => return Ok(self.opened(response, connection)),
                // It was closed while it lay idle: the request is as good as new.
                Err(mut error) => match error.take_message() {
                    Some(unwritten) => request = unwritten,
                    None => return Err(SendError::Lost(error.into_error())),
                },
            }
        }
        // Boxed, so that requests over a connection that is there already do not carry it.
        let mut connection = Box::pin(self.connect()).await?;
        match connection.sender.try_send_request(request).await {
            Ok(response) => Ok(self.opened(response, connection)),
            Err(error) if error.message().is_some() => {
                Err(SendError::Unwritten(error.into_error()))
            }
            Err(error) => Err(SendError::Lost(error.into_error())),
        }
    }

    async fn connect(&self) -> Result<Connection, SendError> {
        Connection::open(&self.connector, &self.server, &self.open).await
    }

    /// The proxy of the connections. A setting that cannot be used fails when it is connected.
    pub(super) fn proxy(&self) -> Option<&Proxy> {
        self.connector.proxy_for(&self.server).ok().flatten()
    }

    /// Completes a request that a proxy forwards; one through a tunnel stays as it is.
    fn prepare(&self, request: &mut Request<Body>) {
        let (Some((scheme, authority)), Some(proxy)) = (&self.forwarded, self.proxy()) else {
            return;
        };
        let mut parts = std::mem::take(request.uri_mut()).into_parts();
        parts.scheme = Some(scheme.clone());
        parts.authority = Some(authority.clone());
        *request.uri_mut() =
            Uri::from_parts(parts).expect("a URI with scheme, authority and path is whole");
        if let Some(authorization) = proxy.authorization() {
            let headers = request.headers_mut();
            headers.insert(PROXY_AUTHORIZATION, authorization.clone());
        }
    }

    fn opened(&self, response: Response<Incoming>, connection: Connection) -> (Parts, BodyStream) {
        let (head, body) = response.into_parts();
        let lease = Lease {
            connection,
            idle: self.idle.clone(),
        };
        (head, BodyStream::new(body, lease))
    }
}

/// A connection that is in use.
pub(super) struct Lease {
    connection: Connection,
    idle: Arc<IdleConnections>,
}

impl Lease {
    /// Gives the connection back, once its response has been read.
    pub(super) fn end(self) {
        self.idle.put(self.connection);
    }

    /// Address of the server.
    pub(super) fn peer(&self) -> Option<IpAddr> {
        self.connection.peer
    }
}

/// Idle connections, the last used one on top.
#[derive(Default)]
struct IdleConnections(Mutex<Vec<(Instant, Connection)>>);

/// Maximum number of idle connections. One more is closed after its response.
const MAX_IDLE: usize = 128;

/// Time that an idle connection can be used again. It is below the 60 s after which many servers close
/// theirs, so that a request does not meet the close.
const IDLE_TIMEOUT: Duration = Duration::from_secs(55);

/// Time for a connection to become ready after its last response. One that takes longer is closed.
const READY_TIMEOUT: Duration = Duration::from_millis(100);

impl IdleConnections {
    /// Takes a connection that is ready for a request.
    async fn take(&self) -> Option<Connection> {
        loop {
            let mut connection = {
                let mut connections = self.0.lock();
                let (since, connection) = connections.pop()?;
                if since.elapsed() > IDLE_TIMEOUT {
                    // All others have been idle for longer: the last used one is on top.
                    connections.clear();
                    return None;
                }
                connection
            };
            if connection.sender.is_ready() {
                return Some(connection);
            }
            // Its task may not have run since the response; or it still writes the request.
            let ready = connection.sender.ready();
            if let Ok(Ok(())) = tokio::time::timeout(READY_TIMEOUT, ready).await {
                return Some(connection);
            }
        }
    }

    fn put(&self, connection: Connection) {
        let mut connections = self.0.lock();
        if connections.len() < MAX_IDLE && !connection.sender.is_closed() {
            connections.push((Instant::now(), connection));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::client::conn::http1;
    use hyper_util::rt::TokioIo;
    use tokio::io::DuplexStream;

    type Opened = (
        Connection,
        http1::Connection<TokioIo<DuplexStream>, Body>,
        DuplexStream,
    );

    async fn open() -> Opened {
        let (ours, theirs) = tokio::io::duplex(64);
        let (sender, task) = http1::handshake(TokioIo::new(ours)).await.unwrap();
        (Connection { sender, peer: None }, task, theirs)
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_used_again_until_it_has_been_idle_for_too_long() {
        let (connection, task, _theirs) = open().await;
        tokio::spawn(task);
        let idle = IdleConnections::default();
        idle.put(connection);
        tokio::time::advance(IDLE_TIMEOUT).await;
        let connection = idle.take().await.unwrap();
        idle.put(connection);
        tokio::time::advance(IDLE_TIMEOUT + Duration::from_millis(1)).await;
        assert!(idle.take().await.is_none());
        assert_eq!(idle.0.lock().len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_is_closed_or_never_ready_is_passed_over() {
        let idle = IdleConnections::default();
        let (ready, task, _theirs) = open().await;
        tokio::spawn(task);
        let (stuck, _task, _theirs) = open().await;
        let (closed, task, _theirs) = open().await;
        idle.put(ready);
        idle.put(stuck);
        idle.put(closed);
        drop(task);
        assert!(idle.take().await.unwrap().sender.is_ready());
        assert_eq!(idle.0.lock().len(), 0);
    }

    #[tokio::test]
    async fn only_so_many_connections_are_kept() {
        let idle = IdleConnections::default();
        let mut open_connections = Vec::new();
        for _ in 0..=MAX_IDLE {
            let (connection, task, theirs) = open().await;
            open_connections.push((task, theirs));
            idle.put(connection);
        }
        assert_eq!(idle.0.lock().len(), MAX_IDLE);
    }
}
