use std::error::Error as StdError;
use std::future::poll_fn;
use std::net::IpAddr;
use std::time::Duration;

use http::{Extensions, Uri};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::rt::{Read, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::{Connection as Metadata, HttpConnector, HttpInfo};
use tower_service::Service;

use super::config::Config;
use super::endpoint::Endpoint;
use super::request::Body;
use crate::transport::http::tls;

/// Makes connections to one server, directly, whatever proxy the system is configured with.
pub(super) struct Connector {
    endpoint: Uri,
    timeout: Duration,
    transport: Transport,
}

enum Transport {
    Tcp(HttpConnector),
    Tls(HttpsConnector<HttpConnector>),
}

/// A connection that has been made.
pub(super) struct Connection {
    pub(super) sender: SendRequest<Body>,
    /// Where it leads to.
    pub(super) peer: Option<IpAddr>,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    #[error("no connection within {0:?}")]
    TimedOut(Duration),
    #[error(transparent)]
    Failed(Box<dyn StdError + Send + Sync>),
    #[error(transparent)]
    Handshake(#[from] hyper::Error),
}

/// What a connection reads at once, and the most bytes of the head of a response.
///
/// With a fixed size one buffer serves most of a response; by itself it would grow with the
/// response and be allocated anew for each.
const READ_BUFFER: usize = 16 * 1024;

/// How often the operating system checks that the peer of a silent stream is still there.
const TCP_KEEP_ALIVE: Duration = Duration::from_secs(60);

impl Connector {
    pub(super) fn new(endpoint: &Endpoint, config: &Config) -> Result<Self, rustls::Error> {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(TCP_KEEP_ALIVE));
        let transport = if endpoint.is_https() {
            tcp.enforce_http(false);
            let tls = HttpsConnectorBuilder::new()
                .with_tls_config(tls::client_config(&config.extra_roots)?)
                .https_only()
                .enable_http1()
                .wrap_connector(tcp);
            Transport::Tls(tls)
        } else {
            Transport::Tcp(tcp)
        };
        Ok(Self {
            endpoint: endpoint.uri().clone(),
            timeout: config.connect_timeout,
            transport,
        })
    }

    /// Makes a connection; looking up the name, TCP and TLS together must end in time.
    pub(super) async fn connect(&self) -> Result<Connection, ConnectError> {
        let connecting = async {
            match &self.transport {
                Transport::Tcp(tcp) => open(tcp.clone(), self.endpoint.clone()).await,
                Transport::Tls(tls) => open(tls.clone(), self.endpoint.clone()).await,
            }
        };
        tokio::time::timeout(self.timeout, connecting)
            .await
            .unwrap_or(Err(ConnectError::TimedOut(self.timeout)))
    }
}

async fn open<C>(mut connector: C, endpoint: Uri) -> Result<Connection, ConnectError>
where
    C: Service<Uri>,
    C::Error: Into<Box<dyn StdError + Send + Sync>>,
    C::Response: Metadata + Read + Write + Unpin + Send + 'static,
{
    let failed = |error: C::Error| ConnectError::Failed(error.into());
    poll_fn(|cx| connector.poll_ready(cx))
        .await
        .map_err(failed)?;
    let (stream, peer) = with_peer(connector.call(endpoint).await.map_err(failed)?);
    let (sender, connection) = http1::Builder::new()
        .read_buf_exact_size(Some(READ_BUFFER))
        .handshake(stream)
        .await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended");
        }
    });
    Ok(Connection { sender, peer })
}

/// The stream and where it leads to. It is not borrowed, or the future would hold it twice.
fn with_peer<S: Metadata>(stream: S) -> (S, Option<IpAddr>) {
    let mut known = Extensions::new();
    stream.connected().get_extras(&mut known);
    let info: Option<&HttpInfo> = known.get();
    let peer = info.map(|info| info.remote_addr().ip().to_canonical());
    (stream, peer)
}
