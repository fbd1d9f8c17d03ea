use std::net::IpAddr;

use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use super::config::Config;
use super::endpoint::Endpoint;
use super::request::Body;
use crate::transport::http::connect::{self, Destination, Stream};

/// Makes HTTP connections to one server.
pub(super) struct Connector {
    connector: connect::Connector,
    destination: Destination,
}

/// An HTTP connection.
pub(super) struct Connection {
    pub(super) sender: SendRequest<Body>,
    /// Address of the server.
    pub(super) peer: Option<IpAddr>,
}

/// Failure to make an HTTP connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    #[error(transparent)]
    Connect(#[from] connect::ConnectError),
    #[error(transparent)]
    Http(#[from] hyper::Error),
}

/// Size of the read buffer of a connection, and so the maximum size of the head of a response.
///
/// With a fixed size one buffer serves most of a response; an adaptive one would grow with the
/// response and be allocated anew for each.
const READ_BUFFER: usize = 16 * 1024;

impl Connector {
    pub(super) fn new(endpoint: &Endpoint, config: &Config) -> Result<Self, rustls::Error> {
        let (host, port) = endpoint.host_and_port();
        Ok(Self {
            connector: connect::Connector::new(&config.extra_roots, config.connect_timeout)?,
            destination: Destination::new(host, port, endpoint.is_https()),
        })
    }

    /// Makes a connection.
    pub(super) async fn connect(&self) -> Result<Connection, ConnectError> {
        // The user named the server, so any address will do.
        let any = |_| Ok(());
        let stream = self.connector.connect(&self.destination, any).await?;
        let peer = stream.peer();
        let sender = match stream {
            Stream::Tcp(stream) => start(stream).await?,
            Stream::Tls(stream) => start(stream).await?,
        };
        Ok(Connection { sender, peer })
    }
}

/// Starts HTTP on a stream, which a task of its own drives.
async fn start<S>(stream: S) -> Result<SendRequest<Body>, hyper::Error>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (sender, connection) = http1::Builder::new()
        .read_buf_exact_size(Some(READ_BUFFER))
        .handshake(TokioIo::new(stream))
        .await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended");
        }
    });
    Ok(sender)
}
