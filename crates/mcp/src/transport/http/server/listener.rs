use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::config::Config;
use super::connection::{protocol, serve};
use super::exchange::Shared;
use super::guard::Policy;
use super::intake::Room;
use super::legacy;
use super::vitals::{Vitals, Watch};
use crate::service::Service;

/// A Streamable HTTP server.
///
/// ```no_run
/// # use callgate_mcp::{Service, transport::http::server::{Config, Server}};
/// # async fn example(service: std::sync::Arc<dyn Service>) -> std::io::Result<()> {
/// let server = Server::bind(([127, 0, 0, 1], 3000).into(), service, Config::default()).await?;
/// println!("listening on http://{}/mcp", server.local_addr());
/// server.run().await;
/// # Ok(())
/// # }
/// ```
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
    shutdown: ShutdownHandle,
}

/// Shuts a [`Server`] down from elsewhere.
#[derive(Debug, Clone)]
pub struct ShutdownHandle(Arc<watch::Sender<bool>>);

/// Whether a server is shutting down.
#[derive(Debug, Clone)]
pub(super) struct Draining(watch::Receiver<bool>);

impl Server {
    /// Starts to listen on `address`; nothing is answered until [`Self::run`].
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub async fn bind(
        address: SocketAddr,
        service: Arc<dyn Service>,
        config: Config,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let (begin, draining) = watch::channel(false);
        let draining = Draining(draining);
        let shared = Shared {
            legacy: legacy::endpoint(&service, &config, &draining),
            service,
            policy: Policy::new(&config.guard, address),
            config,
            draining,
            bodies: Room::default(),
        };
        Ok(Self {
            listener,
            address,
            shared: Arc::new(shared),
            shutdown: ShutdownHandle(Arc::new(begin)),
        })
    }

    /// The address the server listens on.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// A handle that shuts the server down.
    #[must_use]
    pub fn shutdown_handle(&self) -> ShutdownHandle {
        self.shutdown.clone()
    }

    /// Answers requests until the server is shut down.
    ///
    /// Then no more connections are taken, subscriptions end, and accepted requests have
    /// [`Limits::drain`](super::Limits::drain) to finish. Dropping the future closes every
    /// connection at once and cancels what runs.
    pub async fn run(self) {
        let limits = &self.shared.config.limits;
        let mut connections = Connections::new(self.shared.clone());
        let mut look = interval(look_interval(
            limits.header_timeout.min(limits.idle_timeout),
        ));
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let draining = self.shared.draining.clone();
        let mut shutdown = std::pin::pin!(draining.begun());
        loop {
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                Some(ended) = connections.tasks.join_next_with_id() => connections.remove(&ended),
                now = look.tick() => connections.close_overdue(now),
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, peer)) => connections.add(stream, peer.ip()),
                    Err(error) => {
                        // Mostly too many open files: wait for some to be closed.
                        tracing::warn!(%error, "cannot accept a connection");
                        sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
        drop(self.listener);
        connections.drain().await;
    }
}

impl ShutdownHandle {
    /// Shuts the server down; a second time changes nothing.
    pub fn shutdown(&self) {
        self.0.send_replace(true);
    }
}

impl Draining {
    pub(super) fn has_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves when the server shuts down; never, if it is dropped before.
    pub(super) async fn begun(mut self) {
        if self.0.wait_for(|begun| *begun).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How often connections are looked at while the server drains.
const DRAIN_LOOK: Duration = Duration::from_millis(10);

/// How often connections are looked at, where `limit` is the shortest time that one may take.
fn look_interval(limit: Duration) -> Duration {
    (limit / 8).clamp(Duration::from_millis(10), Duration::from_secs(1))
}

/// The open connections of a server.
struct Connections {
    shared: Arc<Shared>,
    protocol: http1::Builder,
    tasks: JoinSet<()>,
    open: HashMap<Id, Open>,
    per_peer: HashMap<IpAddr, usize>,
}

struct Open {
    peer: IpAddr,
    vitals: Arc<Vitals>,
    watch: Watch,
    task: AbortHandle,
}

impl Connections {
    fn new(shared: Arc<Shared>) -> Self {
        Self {
            protocol: protocol(shared.config.limits.header_bytes),
            shared,
            tasks: JoinSet::new(),
            open: HashMap::new(),
            per_peer: HashMap::new(),
        }
    }

    fn add(&mut self, stream: TcpStream, peer: IpAddr) {
        let peer = peer.to_canonical();
        let limits = &self.shared.config.limits;
        let of_peer = self.per_peer.get(&peer).copied().unwrap_or(0);
        if self.open.len() >= limits.connections || of_peer >= limits.connections_per_peer {
            refuse(&stream);
            return;
        }
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "cannot set TCP_NODELAY");
        }
        let vitals = Arc::new(Vitals::new());
        let connection = serve(
            stream,
            self.protocol.clone(),
            self.shared.clone(),
            vitals.clone(),
        );
        let task = self.tasks.spawn(connection);
        self.per_peer.insert(peer, of_peer + 1);
        let open = Open {
            peer,
            watch: Watch::new(&vitals),
            vitals,
            task,
        };
        self.open.insert(open.task.id(), open);
    }

    fn remove(&mut self, ended: &Result<(Id, ()), JoinError>) {
        let id = match ended {
            Ok((id, ())) => *id,
            Err(error) => error.id(),
        };
        let Some(open) = self.open.remove(&id) else {
            return;
        };
        if let Some(count) = self.per_peer.get_mut(&open.peer) {
            *count -= 1;
            if *count == 0 {
                self.per_peer.remove(&open.peer);
            }
        }
    }

    fn close_overdue(&mut self, now: Instant) {
        if let Some(legacy) = &self.shared.legacy {
            legacy.sweep(now);
        }
        let limits = &self.shared.config.limits;
        for open in self.open.values_mut() {
            if open.watch.is_overdue(&open.vitals, now, limits) {
                open.task.abort();
            }
        }
    }

    /// Closes connections as they become free, and all of them when the time is up.
    async fn drain(mut self) {
        let mut end = std::pin::pin!(sleep(self.shared.config.limits.drain));
        let mut look = interval(DRAIN_LOOK);
        loop {
            tokio::select! {
                biased;
                ended = self.tasks.join_next_with_id() => match ended {
                    Some(ended) => self.remove(&ended),
                    None => return,
                },
                () = &mut end => return self.tasks.shutdown().await,
                now = look.tick() => self.close_free(now),
            }
        }
    }

    fn close_free(&mut self, now: Instant) {
        for open in self.open.values_mut() {
            if open.watch.is_free(&open.vitals, now) {
                open.task.abort();
            }
        }
    }
}

/// Tells a peer that there are too many connections. Best effort: nobody waits for it.
fn refuse(stream: &TcpStream) {
    const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
        connection: close\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n";
    // A new connection has room for this much.
    let _ = stream.try_write(BUSY);
}
