use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming as Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::page::{POLICY, Page, html};
use super::request::{self, Delivery, Incoming};
use super::waiters::{Connection, WaitError, Waiter, Waiters};
use crate::options::RedirectUri;
use crate::secret::Secret;

/// Loopback listener for the redirect of the browser.
///
/// Dropping it closes every connection and ends every wait.
#[derive(Debug)]
pub struct CallbackListener {
    address: SocketAddr,
    is_configured: bool,
    shared: Arc<Shared>,
    task: AbortHandle,
}

/// Configuration of a [`CallbackListener`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// Loopback address.
    pub address: SocketAddr,
    /// Path of the redirect URI.
    pub path: String,
    /// Redirect URI as it is registered, if it is not made of the address and the path.
    pub redirect_uri: Option<RedirectUri>,
    /// Behavior if the port is in use.
    pub when_busy: WhenBusy,
    /// Limits.
    pub limits: CallbackLimits,
}

/// Behavior if the port is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenBusy {
    /// Fail, because the registration names this port.
    Fail,
    /// Take any port, because the registration allows it.
    TakeAnother,
}

/// Limits of a [`CallbackListener`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallbackLimits {
    /// Maximum number of logins at once.
    pub logins: usize,
    /// Maximum number of connections.
    pub connections: usize,
    /// Time limit for the user.
    pub login_time: Duration,
    /// Time limit for a browser to send its request, and for the program to finish the login before
    /// the page.
    pub request_time: Duration,
}

/// The listener could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// Other machines could reach the address.
    #[error("refusing to listen on {0} for a login: it is not a loopback address")]
    NotLoopback(SocketAddr),
    /// The port is in use.
    #[error("cannot listen on {0} for the login: another program has this port")]
    Busy(SocketAddr),
    /// A system call failed.
    #[error("cannot listen on {address} for the login")]
    Io {
        /// Address.
        address: SocketAddr,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
}

impl Default for Config {
    fn default() -> Self {
        Self {
            address: (Ipv4Addr::LOCALHOST, 19876).into(),
            path: "/mcp/oauth/callback".to_owned(),
            redirect_uri: None,
            when_busy: WhenBusy::Fail,
            limits: CallbackLimits::default(),
        }
    }
}

impl Default for CallbackLimits {
    fn default() -> Self {
        Self {
            logins: 64,
            connections: 32,
            login_time: Duration::from_secs(300),
            request_time: Duration::from_secs(10),
        }
    }
}

impl Config {
    /// Listens for a redirect URI that was registered by hand. Without a port in it, any free port is
    /// taken.
    #[must_use]
    pub fn for_redirect_uri(uri: &RedirectUri) -> Self {
        let usual = Self::default();
        let port = uri.port().unwrap_or(usual.address.port());
        Self {
            address: (uri.ip(), port).into(),
            path: uri.path().to_owned(),
            redirect_uri: Some(uri.clone()),
            when_busy: match uri.port() {
                Some(_) => WhenBusy::Fail,
                None => WhenBusy::TakeAnother,
            },
            limits: usual.limits,
        }
    }

    /// Redirect URI, if the port is free.
    #[must_use]
    pub fn redirect_uri(&self) -> String {
        redirect_uri(self.address, &self.path, self.redirect_uri.as_ref())
    }
}

impl CallbackListener {
    /// Starts to listen, in a background task.
    ///
    /// # Errors
    /// The address is not a loopback address, or it is not available.
    pub async fn bind(config: Config) -> Result<Self, BindError> {
        let listener = listen(config.address, config.when_busy).await?;
        let address = listener.local_addr().map_err(|source| BindError::Io {
            address: config.address,
            source,
        })?;
        let registered = config.redirect_uri.as_ref();
        // A redirect URI without a port is registered for every port.
        let is_configured =
            address == config.address || registered.is_some_and(|uri| uri.port().is_none());
        let other = match registered.filter(|uri| uri.is_localhost()) {
            // Best-effort: a browser that resolves the name to IPv6 tries IPv4 next.
            Some(_) => TcpListener::bind((Ipv6Addr::LOCALHOST, address.port()))
                .await
                .ok(),
            None => None,
        };
        let shared = Arc::new(Shared {
            waiters: Waiters::new(config.limits.logins, config.limits.login_time),
            address,
            path: config.path,
            redirect_uri: config.redirect_uri,
            limits: config.limits,
        });
        let task = tokio::spawn(accept(listener, other, shared.clone())).abort_handle();
        Ok(Self {
            address,
            is_configured,
            shared,
            task,
        })
    }

    /// Redirect URI.
    #[must_use]
    pub fn redirect_uri(&self) -> String {
        let registered = self.shared.redirect_uri.as_ref();
        redirect_uri(self.address, &self.shared.path, registered)
    }

    /// Returns true if the address is the configured one, which clients are registered with.
    #[must_use]
    pub(crate) fn is_at_configured_address(&self) -> bool {
        self.is_configured
    }

    /// Registers a wait for the redirect with `state`. Call it before the browser is opened.
    ///
    /// # Errors
    /// There is a wait for this state already, or there are too many.
    pub fn wait_for(&self, state: &Secret) -> Result<Waiter, WaitError> {
        self.shared.waiters.add(state)
    }
}

impl Drop for CallbackListener {
    fn drop(&mut self) {
        self.task.abort();
        self.shared.waiters.stop();
    }
}

#[derive(Debug)]
struct Shared {
    waiters: Waiters,
    address: SocketAddr,
    path: String,
    redirect_uri: Option<RedirectUri>,
    limits: CallbackLimits,
}

fn redirect_uri(address: SocketAddr, path: &str, registered: Option<&RedirectUri>) -> String {
    match registered {
        Some(uri) => uri.with_port(address.port()),
        None => format!("http://{address}{path}"),
    }
}

async fn listen(address: SocketAddr, when_busy: WhenBusy) -> Result<TcpListener, BindError> {
    if !address.ip().is_loopback() {
        return Err(BindError::NotLoopback(address));
    }
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(listener),
        Err(source) if source.kind() != io::ErrorKind::AddrInUse => {
            Err(BindError::Io { address, source })
        }
        Err(_) if when_busy == WhenBusy::Fail => Err(BindError::Busy(address)),
        Err(_) => {
            let address = SocketAddr::new(address.ip(), 0);
            let listener = TcpListener::bind(address).await;
            listener.map_err(|source| BindError::Io { address, source })
        }
    }
}

async fn accept(listener: TcpListener, other: Option<TcpListener>, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    let accept_other = || async {
        match &other {
            Some(other) => other.accept().await,
            None => std::future::pending().await,
        }
    };
    loop {
        let accepted = async {
            tokio::select! {
                accepted = listener.accept() => accepted,
                accepted = accept_other() => accepted,
            }
        };
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = accepted => match accepted {
                Ok((stream, _)) if connections.len() < shared.limits.connections => {
                    connections.spawn(serve(stream, shared.clone()));
                }
                Ok((stream, _)) => refuse(&stream),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
}

const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Maximum bytes of a request head. Codes can be long.
const MAX_HEAD: usize = 32 * 1024;

/// Refuses a connection because there are too many. Best-effort: the write is not awaited.
fn refuse(stream: &TcpStream) {
    const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
        connection: close\r\ncontent-length: 0\r\n\r\n";
    let _ = stream.try_write(BUSY);
}

/// Answers one request.
async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let request_time = shared.limits.request_time;
    let (_open, connection) = watch::channel(());
    let service = service_fn(move |request| {
        let (shared, connection) = (shared.clone(), connection.clone());
        async move { Ok::<_, Infallible>(answer(&shared, &request, connection).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(request_time)
        .keep_alive(false)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    // One third for the head, one for the login, and one for a browser that reads slowly.
    if let Ok(Err(error)) = timeout(request_time * 3, connection).await {
        tracing::debug!(%error, "connection ended early");
    }
}

async fn answer(
    shared: &Shared,
    request: &Request<Body>,
    connection: Connection,
) -> Response<Full<Bytes>> {
    let host = request.headers().get(HOST);
    let incoming = Incoming {
        method: request.method(),
        uri: request.uri(),
        host: host.and_then(|host| host.to_str().ok()),
    };
    let delivery = match request::read(&incoming, shared.address, &shared.path) {
        Ok(delivery) => delivery,
        Err((status, reason)) => return respond(status, html("Login", reason)),
    };
    let Delivery { state, query } = delivery;
    let Some(page) = shared.waiters.deliver(&state, query, connection) else {
        let reason = "Invalid or expired state parameter";
        return respond(StatusCode::BAD_REQUEST, html("Login", reason));
    };
    let page = match timeout(shared.limits.request_time, page).await {
        Ok(Ok(page)) => Page::to_html(&page),
        // The program tells the user the result in another way.
        _ => html(
            "Login",
            "You may close this window and go back to the program.",
        ),
    };
    respond(StatusCode::OK, page)
}

fn respond(status: StatusCode, page: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(page));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
