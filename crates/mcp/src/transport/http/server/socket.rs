use std::io;
use std::net::SocketAddr;
#[cfg(unix)]
use std::os::fd::OwnedFd;
#[cfg(unix)]
use std::os::unix::net::UnixListener as StdUnixListener;
#[cfg(unix)]
use std::path::Path;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::net::UnixListener;

/// Listening socket: TCP or Unix, with TLS or without.
#[derive(Debug)]
pub struct Socket {
    listener: SocketListener,
    #[cfg(feature = "server-tls")]
    pub(super) tls: Option<rustls::ServerConfig>,
}

#[derive(Debug)]
enum SocketListener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener),
}

/// Stream of an accepted connection.
pub(super) type Stream = Box<dyn ReadWrite>;

pub(super) trait ReadWrite: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ReadWrite for S {}

impl Socket {
    /// Listens on a TCP address.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        Ok(Self::new(SocketListener::Tcp(
            TcpListener::bind(address).await?,
        )))
    }

    /// Listens on a Unix socket. The file must not exist yet, and remains when the server ends.
    ///
    /// # Errors
    /// The file exists, or cannot be made.
    #[cfg(unix)]
    pub fn bind_unix(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self::new(SocketListener::Unix(UnixListener::bind(path)?)))
    }

    /// Takes over a TCP socket that listens already.
    ///
    /// # Errors
    /// The socket cannot be made non-blocking.
    pub fn from_std(listener: std::net::TcpListener) -> io::Result<Self> {
        // The runtime needs it, and leaves a socket that it takes over as it is.
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        Ok(Self::new(SocketListener::Tcp(listener)))
    }

    /// Takes over a listening socket that another process opened, such as one of systemd's
    /// `LISTEN_FDS`.
    ///
    /// # Errors
    /// The descriptor is not a listening TCP or Unix socket.
    #[cfg(unix)]
    pub fn from_fd(fd: OwnedFd) -> io::Result<Self> {
        use rustix::net::AddressFamily;
        use rustix::net::sockopt::{socket_acceptconn, socket_domain};

        let unsupported = |what: &str| {
            let message = format!("the descriptor is not a listening socket: {what}");
            io::Error::new(io::ErrorKind::InvalidInput, message)
        };
        // Linux answers; where the question is not supported, the first `accept` fails instead.
        if !socket_acceptconn(&fd).unwrap_or(true) {
            return Err(unsupported("it does not listen"));
        }
        match socket_domain(&fd).map_err(|error| unsupported(&error.to_string()))? {
            AddressFamily::INET | AddressFamily::INET6 => Self::from_std(fd.into()),
            AddressFamily::UNIX => {
                let listener = StdUnixListener::from(fd);
                // As for TCP, the runtime leaves this to us.
                listener.set_nonblocking(true)?;
                let listener = UnixListener::from_std(listener)?;
                Ok(Self::new(SocketListener::Unix(listener)))
            }
            _ => Err(unsupported("it is neither a TCP nor a Unix socket")),
        }
    }

    /// Speaks TLS on this socket, and with it HTTP/2 if the client does.
    ///
    /// HTTP/2 and HTTP/1.1 are offered unless `config` has ALPN protocols of its own.
    #[cfg(feature = "server-tls")]
    #[must_use]
    pub fn with_tls(mut self, config: rustls::ServerConfig) -> Self {
        self.tls = Some(config);
        self
    }

    pub(super) fn speaks_tls(&self) -> bool {
        #[cfg(feature = "server-tls")]
        return self.tls.is_some();
        #[cfg(not(feature = "server-tls"))]
        false
    }

    /// Address of a TCP socket.
    ///
    /// # Errors
    /// This is a Unix socket.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.listener {
            SocketListener::Tcp(listener) => listener.local_addr(),
            #[cfg(unix)]
            SocketListener::Unix(_) => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "a Unix socket has no IP address",
            )),
        }
    }

    fn new(listener: SocketListener) -> Self {
        Self {
            listener,
            #[cfg(feature = "server-tls")]
            tls: None,
        }
    }

    /// Accepts a connection. Dropping the future loses none.
    pub(super) async fn accept(&self) -> io::Result<(Stream, Option<SocketAddr>)> {
        match &self.listener {
            SocketListener::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "cannot set TCP_NODELAY");
                }
                Ok((Box::new(stream), Some(address)))
            }
            #[cfg(unix)]
            SocketListener::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                Ok((Box::new(stream), None))
            }
        }
    }
}
