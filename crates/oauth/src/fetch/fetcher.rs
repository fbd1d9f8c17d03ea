use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use callgate_mcp::transport::http::connect::{
    ConnectError, Connector, Destination, Proxies, Resolve, Stream, SystemResolver,
};
use url::Url;

use super::error::{FetchError, origin};
use super::redirect;
use super::send::{self, Answer};
use super::time_limit::within;
use crate::guard::Guard;
use crate::http_message::{Request, Response};

/// HTTP client for logins. Clones share everything.
#[derive(Clone)]
pub struct Fetcher {
    timeout: Duration,
    connector: Connector,
}

/// Configuration of a [`Fetcher`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// Certificates to trust besides those of the platform, in DER form.
    pub extra_roots: Vec<Bytes>,
    /// Time limit for a connection, including the TLS handshake.
    pub connect_timeout: Duration,
    /// Time limit for a request, including redirects.
    pub timeout: Duration,
    /// Resolver of host names.
    pub resolver: Arc<dyn Resolve>,
    /// Proxies, which resolve names instead of the resolver.
    pub proxies: Proxies,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            extra_roots: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(30),
            resolver: Arc::new(SystemResolver),
            proxies: Proxies::default(),
        }
    }
}

impl Fetcher {
    /// Creates the client; nothing is fetched yet.
    ///
    /// # Errors
    /// The certificates cannot be used.
    pub fn new(config: Config) -> Result<Self, FetchError> {
        let connector = Connector::new(&config.extra_roots, config.connect_timeout);
        Ok(Self {
            timeout: config.timeout,
            connector: connector
                .map_err(FetchError::Tls)?
                .with_resolver(config.resolver)
                .with_proxies(config.proxies),
        })
    }

    /// Sends `request`, within the limits of `guard`.
    ///
    /// Up to three redirects of a `GET` are followed, and each is guarded like the first URL. A
    /// body that is longer than [`MAX_BODY`](crate::http_message::MAX_BODY) is cut one byte after
    /// it. Dropping the future closes the connection.
    ///
    /// # Errors
    /// There is no response. A response with an error status is not an error here.
    pub async fn fetch(&self, guard: Guard, request: &Request) -> Result<Response, FetchError> {
        let limit = self.timeout;
        let fetched = within(limit, Box::pin(self.follow(guard, request))).await;
        fetched.unwrap_or_else(|| {
            let origin = self.route(&request.url);
            Err(FetchError::TimedOut { origin, limit })
        })
    }

    async fn follow(&self, guard: Guard, request: &Request) -> Result<Response, FetchError> {
        let mut redirected;
        let mut current = request;
        for _ in 0..=redirect::MAX_REDIRECTS {
            match self.send(guard, current).await? {
                Answer::Response(response) => return Ok(response),
                Answer::Redirect(location) => {
                    redirected = redirect::follow(current, &location)?;
                    current = &redirected;
                }
            }
        }
        Err(redirect::too_many(&current.url))
    }

    async fn send(&self, guard: Guard, request: &Request) -> Result<Answer, FetchError> {
        let url = &request.url;
        guard.check_url(url)?;
        let to = destination(url);
        let proxy = self.connector.proxy_for(&to);
        let proxy = proxy.map_err(|source| FetchError::Proxy {
            origin: origin(url),
            source,
        })?;
        // Through a tunnel, a request is the same as without a proxy.
        let forwarding = proxy.filter(|_| url.scheme() == "http");
        let message = send::message(request, forwarding).ok_or_else(|| FetchError::Malformed {
            origin: origin(url),
        })?;
        let stream = self.connect(guard, url).await?;
        let sent = match stream {
            Stream::Tcp(stream) => send::send(stream, message).await,
            Stream::Tls(stream) => send::send(stream, message).await,
        };
        sent.map_err(|source| FetchError::Http {
            origin: self.route(url),
            source,
        })
    }

    /// Origin of `url`, and the proxy on the way there.
    fn route(&self, url: &Url) -> String {
        let origin = origin(url);
        match self.connector.proxy_for(&destination(url)) {
            Ok(Some(proxy)) => format!("{origin} through the proxy {proxy}"),
            _ => origin,
        }
    }

    async fn connect(&self, guard: Guard, url: &Url) -> Result<Stream, FetchError> {
        let check = |address| guard.check_address(url, address);
        let origin = || self.route(url);
        self.connector
            .connect(&destination(url), check)
            .await
            .map_err(|error| match error {
                ConnectError::Refused(refusal) => refusal.into(),
                ConnectError::Resolve(source) => FetchError::Resolve {
                    origin: origin(),
                    source,
                },
                ConnectError::Connect(source) => FetchError::Connect {
                    origin: origin(),
                    source,
                },
                ConnectError::Proxy(source) => FetchError::Proxy {
                    origin: origin(),
                    source,
                },
                ConnectError::Handshake(source) => FetchError::Handshake {
                    origin: origin(),
                    source,
                },
                ConnectError::TimedOut(limit) => FetchError::TimedOut {
                    origin: origin(),
                    limit,
                },
            })
    }
}

fn destination(url: &Url) -> Destination {
    Destination::new(
        url.host_str().unwrap_or_default(),
        url.port_or_known_default().unwrap_or_default(),
        url.scheme() == "https",
    )
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher")
            .field("timeout", &self.timeout)
            .field("connector", &self.connector)
            .finish_non_exhaustive()
    }
}
