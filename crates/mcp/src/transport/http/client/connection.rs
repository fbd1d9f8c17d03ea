use std::net::IpAddr;
use std::sync::Arc;

use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use super::pool::SendError;
use super::request::Body;
use crate::transport::http::connect::{Connector, Destination, Stream};

/// An HTTP connection.
pub(super) struct Connection {
    pub(super) sender: SendRequest<Body>,
    /// Address of the server, unless it is behind a proxy.
    pub(super) peer: Option<IpAddr>,
}

/// Size of the read buffer of a connection, and so the maximum size of the head of a response.
///
/// With a fixed size one buffer serves most of a response; an adaptive one would grow with the
/// response and be allocated anew for each.
const READ_BUFFER: usize = 16 * 1024;

impl Connection {
    /// Opens a connection, which holds a clone of `open` until it is closed.
    pub(super) async fn open(
        connector: &Connector,
        server: &Destination,
        open: &Arc<()>,
    ) -> Result<Self, SendError> {
        // The user named the server, so any address will do.
        let any = |_| Ok(());
        let stream = connector.connect(server, any).await?;
        // The address of a proxy says nothing about the network of the server.
        let peer = match connector.proxy_for(server) {
            Ok(None) => stream.peer(),
            _ => None,
        };
        let sender = match stream {
            Stream::Tcp(stream) => start(stream, open.clone()).await,
            Stream::Tls(stream) => start(stream, open.clone()).await,
        };
        let sender = sender.map_err(SendError::Http)?;
        Ok(Self { sender, peer })
    }
}

/// Starts HTTP on a stream, which a task of its own drives.
async fn start<S>(stream: S, open: Arc<()>) -> Result<SendRequest<Body>, hyper::Error>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (sender, connection) = http1::Builder::new()
        .read_buf_exact_size(Some(READ_BUFFER))
        .handshake(TokioIo::new(stream))
        .await?;
    // The task ends with the connection, which is closed when its sender is dropped.
    tokio::spawn(async move {
        let _open = open;
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended");
        }
    });
    Ok(sender)
}
