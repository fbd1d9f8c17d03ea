//! Connections to HTTP servers: the one way in which this program reaches other machines.
//!
//! A name is resolved once, each of its addresses is checked, and the connection goes to one of
//! them, so a name that changes its addresses cannot slip past the check. Behind a proxy, the proxy
//! resolves the name, and only an address that stands in the URL is checked.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::client::TlsStream;

use super::tls::TlsClient;
use super::tunnel;
use crate::service::BoxFuture;

pub use super::certificates::{CertificateFileError, certificates_in_pem, is_unknown_issuer};
pub use super::proxy::{Proxies, Proxy, ProxyError, ProxySettings};

/// Makes TCP and TLS connections. Clones share everything.
#[derive(Clone)]
pub struct Connector {
    tls: TlsClient,
    resolver: Arc<dyn Resolve>,
    proxies: Proxies,
    timeout: Duration,
}

/// Host, port and security of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    host: String,
    port: u16,
    is_secure: bool,
}

/// An open connection.
///
/// Complete: it is plain text or TLS.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "it is plain text or TLS")]
pub enum Stream {
    /// Plain text.
    Tcp(TcpStream),
    /// TLS.
    Tls(Box<TlsStream<TcpStream>>),
}

/// Failure to connect; `E` is the refusal of an address.
///
/// Complete: a caller must tell a refused address from every other failure.
#[derive(Debug, thiserror::Error)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a caller must tell a refused address from every other failure"
)]
pub enum ConnectError<E = Infallible> {
    /// The time limit was exceeded.
    #[error("no connection within {0:?}")]
    TimedOut(Duration),
    /// The name cannot be resolved.
    #[error("cannot resolve the host: {0}")]
    Resolve(io::Error),
    /// An address of the host is not allowed.
    #[error("the address is not allowed")]
    Refused(E),
    /// No address of the host, or of its proxy, accepts the connection.
    #[error("{0}")]
    Connect(io::Error),
    /// The proxy cannot be used, or refused the tunnel.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// The TLS handshake failed.
    #[error("{0}")]
    Handshake(#[source] io::Error),
}

/// Resolves host names.
pub trait Resolve: fmt::Debug + Send + Sync + 'static {
    /// Addresses of `host`, the best one first.
    ///
    /// # Errors
    /// The lookup failed, or there is no such name.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// Resolver of the operating system.
///
/// Complete: it has no settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it has no settings")]
pub struct SystemResolver;

/// Maximum number of addresses that are tried.
const MAX_ADDRESSES: usize = 16;

/// Delay before the next address is tried (RFC 8305, section 5).
const HEAD_START: Duration = Duration::from_millis(250);

/// Interval at which the operating system checks that the peer of a silent stream is still there.
const TCP_KEEP_ALIVE: Duration = Duration::from_secs(60);

impl Connector {
    /// A connector that trusts the certificates of the platform and `extra_roots` in DER form, and
    /// gives up after `timeout`, which covers the lookup, TCP and TLS together.
    ///
    /// The certificates of the platform are read by the first connection with TLS, which fails if
    /// they cannot be read.
    ///
    /// # Errors
    /// One of `extra_roots` is no certificate.
    pub fn new(extra_roots: &[Bytes], timeout: Duration) -> Result<Self, rustls::Error> {
        Ok(Self {
            tls: TlsClient::new(extra_roots)?,
            resolver: Arc::new(SystemResolver),
            proxies: Proxies::default(),
            timeout,
        })
    }

    /// Sets the resolver of host names.
    #[must_use]
    pub fn with_resolver(mut self, resolver: Arc<dyn Resolve>) -> Self {
        self.resolver = resolver;
        self
    }

    /// Sets the proxies, which resolve names then.
    #[must_use]
    pub fn with_proxies(mut self, proxies: Proxies) -> Self {
        self.proxies = proxies;
        self
    }

    /// The proxy of connections to `to`.
    ///
    /// A TLS connection goes through a tunnel. A request without TLS must have the whole URL as its
    /// target and the [credentials](Proxy::authorization) of the proxy.
    ///
    /// # Errors
    /// The setting for such connections cannot be used.
    pub fn proxy_for(&self, to: &Destination) -> Result<Option<&Proxy>, ProxyError> {
        self.proxies.proxy_for(to)
    }

    /// Connects to an address of `to`, all of which must pass `check`. Dropping the future closes
    /// whatever was opened.
    ///
    /// Behind a proxy, `check` sees an address only if `to` has one instead of a name.
    ///
    /// # Errors
    /// There is no connection. One refused address refuses all, because the others are as suspect.
    pub async fn connect<E>(
        &self,
        to: &Destination,
        check: impl Fn(IpAddr) -> Result<(), E>,
    ) -> Result<Stream, ConnectError<E>> {
        // One limit for the name, all addresses, the proxy and the handshake together.
        let connecting = timeout(self.timeout, self.open(to, check)).await;
        connecting.unwrap_or(Err(ConnectError::TimedOut(self.timeout)))
    }

    async fn open<E>(
        &self,
        to: &Destination,
        check: impl Fn(IpAddr) -> Result<(), E>,
    ) -> Result<Stream, ConnectError<E>> {
        let stream = match self.proxies.proxy_for(to)? {
            None => self.open_tcp(&to.host, to.port, check).await?,
            Some(proxy) => {
                if let Ok(address) = to.host.parse() {
                    check(address).map_err(ConnectError::Refused)?;
                }
                tracing::debug!(host = %to.host, port = to.port, %proxy, "connecting through a proxy");
                self.open_through(proxy, to).await?
            }
        };
        if !to.is_secure {
            return Ok(Stream::Tcp(stream));
        }
        let handshake = self.tls.connect(&to.host, stream);
        let stream = handshake.await.map_err(ConnectError::Handshake)?;
        Ok(Stream::Tls(Box::new(stream)))
    }

    /// Connects to a proxy, and opens a tunnel if the connection will have TLS.
    async fn open_through<E>(
        &self,
        proxy: &Proxy,
        to: &Destination,
    ) -> Result<TcpStream, ConnectError<E>> {
        // The user named the proxy, so any address will do.
        let any = |_| Ok(());
        let opened = self.open_tcp(proxy.host(), proxy.port(), any).await;
        let stream = opened.map_err(|error| match error {
            // Otherwise it would seem to be the name of the server that is unknown.
            ConnectError::Resolve(error) => ConnectError::Connect(error),
            other => other,
        })?;
        match to.is_secure {
            true => Ok(tunnel::open(stream, proxy, to).await?),
            false => Ok(stream),
        }
    }

    async fn open_tcp<E>(
        &self,
        host: &str,
        port: u16,
        check: impl Fn(IpAddr) -> Result<(), E>,
    ) -> Result<TcpStream, ConnectError<E>> {
        let mut addresses = match host.parse() {
            Ok(address) => vec![address],
            Err(_) => {
                let found = self.resolver.resolve(host).await;
                found.map_err(ConnectError::Resolve)?
            }
        };
        // Checked before the list is cut: a forbidden address beyond the limit makes the name suspect too.
        for address in &addresses {
            check(*address).map_err(ConnectError::Refused)?;
        }
        addresses.truncate(MAX_ADDRESSES);
        if addresses.is_empty() {
            return Err(ConnectError::Resolve(io::ErrorKind::NotFound.into()));
        }
        tracing::trace!(host, port, ?addresses, "connecting");
        let stream = connect_to_one(&addresses, port)
            .await
            .map_err(ConnectError::Connect)?;
        // A request is written at once, so delaying a part of it gains nothing. A system that
        // refuses either option still has a working connection.
        let _ = stream.set_nodelay(true);
        let keep_alive = TcpKeepalive::new().with_time(TCP_KEEP_ALIVE);
        let _ = SockRef::from(&stream).set_tcp_keepalive(&keep_alive);
        Ok(stream)
    }
}

impl Destination {
    /// A host, which is a name or an address, with or without the brackets of a URL.
    #[must_use]
    pub fn new(host: &str, port: u16, is_secure: bool) -> Self {
        let bare = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        Self {
            host: bare.unwrap_or(host).to_owned(),
            port,
            is_secure,
        }
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// Host and port as in a URL.
    pub(super) fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

impl Stream {
    /// Address of the peer, which may be a proxy.
    pub(crate) fn peer(&self) -> Option<IpAddr> {
        let stream = match self {
            Self::Tcp(stream) => stream,
            Self::Tls(stream) => stream.get_ref().0,
        };
        let address = stream.peer_addr().ok()?;
        Some(address.ip().to_canonical())
    }
}

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address: SocketAddr| address.ip()).collect())
        })
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector")
            .field("tls", &self.tls)
            .field("resolver", &self.resolver)
            .field("proxies", &self.proxies)
            .field("timeout", &self.timeout)
            .finish()
    }
}

/// Connects to the first address that answers. Each one has a head start before the next.
async fn connect_to_one(addresses: &[IpAddr], port: u16) -> io::Result<TcpStream> {
    let mut left = addresses.iter();
    let mut attempts = JoinSet::new();
    let mut failure = io::Error::from(io::ErrorKind::NotFound);
    loop {
        // After a failure the next address is tried at once, without the delay.
        if let Some(address) = left.next() {
            attempts.spawn(TcpStream::connect(SocketAddr::new(*address, port)));
        }
        tokio::select! {
            ended = attempts.join_next() => match ended {
                // Returning drops the set, which closes the other attempts.
                Some(Ok(Ok(stream))) => return Ok(stream),
                Some(Ok(Err(error))) => failure = error,
                Some(Err(error)) => failure = error.into(),
                None => return Err(failure),
            },
            () = sleep(HEAD_START), if left.len() > 0 => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn only_a_connection_with_tls_reads_the_certificates_of_the_platform() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let connector = Connector::new(&[], Duration::from_secs(60)).unwrap();
        let connect = async |is_secure| {
            let to = Destination::new("127.0.0.1", port, is_secure);
            let any = |_| Ok::<(), Infallible>(());
            let accept_and_close = async { drop(listener.accept().await.unwrap()) };
            tokio::join!(connector.connect(&to, any), accept_and_close).0
        };
        assert!(matches!(connect(false).await, Ok(Stream::Tcp(_))));
        assert!(!connector.tls.is_loaded());
        let closed = connect(true).await;
        assert!(matches!(closed, Err(ConnectError::Handshake(_))));
        assert!(connector.tls.is_loaded());
    }
}
