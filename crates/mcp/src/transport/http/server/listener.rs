use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, sleep};

use super::config::HttpServerConfig;
use super::connections::{Connections, Protocols};
use super::endpoint::{Endpoint, ShutdownHandle};
use super::host_policy::OwnAddress;
use super::socket::Socket;
use crate::service::Service;

/// Streamable HTTP server with a socket of its own: an [`Endpoint`] with limits of connections, the
/// guard against request smuggling, and draining.
///
/// ```no_run
/// # use callgate_mcp::{Service, transport::http::server::{HttpServerConfig, Listener}};
/// # async fn example(service: std::sync::Arc<dyn Service>) -> std::io::Result<()> {
/// let address = ([127, 0, 0, 1], 3000).into();
/// let listener = Listener::bind(address, service, HttpServerConfig::default()).await?;
/// println!("listening on http://{}/mcp", listener.local_addr()?);
/// listener.run().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    endpoint: Endpoint,
}

impl Listener {
    /// Listens on a TCP address; nothing is answered until [`Self::run`].
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub async fn bind(
        address: SocketAddr,
        service: Arc<dyn Service>,
        config: HttpServerConfig,
    ) -> io::Result<Self> {
        Ok(Self::new(Socket::bind(address).await?, service, config))
    }

    /// Listens on `socket`; nothing is answered until [`Self::run`].
    #[must_use]
    pub fn new(socket: Socket, service: Arc<dyn Service>, config: HttpServerConfig) -> Self {
        let own = match socket.local_addr() {
            Ok(address) => OwnAddress::Tcp {
                address,
                tls: socket.speaks_tls(),
            },
            Err(_) => OwnAddress::Unknown,
        };
        Self {
            socket,
            endpoint: Endpoint::at(own, service, config),
        }
    }

    /// Address of a TCP socket.
    ///
    /// # Errors
    /// The server listens on a Unix socket.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// A handle that shuts the server down.
    #[must_use]
    pub fn shutdown_handle(&self) -> ShutdownHandle {
        self.endpoint.shutdown_handle()
    }

    /// Answers requests until the server is shut down.
    ///
    /// Then no more connections are accepted, subscriptions end, and accepted requests have
    /// [`HttpServerLimits::drain`](super::HttpServerLimits::drain) to finish. Dropping the future closes every
    /// connection at once and cancels all calls.
    pub async fn run(self) {
        let limits = &self.endpoint.config().limits;
        let shortest = limits.header_timeout.min(limits.idle_timeout);
        let mut check = interval(check_interval(shortest));
        // A check that comes late is made once, not once for each interval that was missed.
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut shutdown = self.endpoint.draining().begun();
        let protocols = Protocols::new(limits);
        #[cfg(feature = "server-tls")]
        let protocols = match &self.socket.tls {
            Some(config) => protocols.with_tls(config.clone(), limits),
            None => protocols,
        };
        let mut connections = Connections::new(self.endpoint, protocols);
        loop {
            tokio::select! {
                // Shutdown before anything else, and ended connections before new ones: a peer at
                // its limit may open a connection as soon as it has closed another.
                biased;
                () = &mut shutdown => break,
                () = connections.ended() => {}
                now = check.tick() => connections.close_overdue(now),
                accepted = self.socket.accept() => match accepted {
                    Ok((stream, address)) => connections.add(stream, address),
                    Err(error) => {
                        // Mostly too many open files: wait for some to be closed.
                        tracing::warn!(%error, "cannot accept a connection");
                        sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
        // Closed before the drain, so that new clients are refused instead of waiting in the backlog.
        drop(self.socket);
        connections.drain().await;
    }
}

const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Interval of the checks of all connections, if `limit` is their shortest time limit.
fn check_interval(limit: Duration) -> Duration {
    (limit / 8).clamp(Duration::from_millis(10), Duration::from_secs(1))
}
