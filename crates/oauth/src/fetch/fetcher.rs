use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use callgate_mcp::transport::http::tls;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::connect::{self, Stream};
use super::error::{FetchError, origin};
use super::redirect;
use super::resolve::{Resolve, SystemResolver};
use super::send::{self, Answer};
use crate::exchange::{Request, Response};
use crate::guard::Guard;

/// Carries out the requests of logins. Clones share everything.
#[derive(Clone)]
pub struct Fetcher {
    config: Arc<Config>,
    tls: TlsConnector,
}

/// How requests are carried out.
#[derive(Debug, Clone)]
pub struct Config {
    /// Certificates to trust besides those of the platform, in DER form.
    pub extra_roots: Vec<Bytes>,
    /// How long a connection may take, its TLS handshake included.
    pub connect_timeout: Duration,
    /// How long everything may take, redirects included.
    pub timeout: Duration,
    /// Who knows the addresses of hosts.
    pub resolver: Arc<dyn Resolve>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            extra_roots: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(30),
            resolver: Arc::new(SystemResolver),
        }
    }
}

impl Fetcher {
    /// Gets ready; nothing is fetched yet.
    ///
    /// # Errors
    /// The certificates to trust cannot be used.
    pub fn new(config: Config) -> Result<Self, FetchError> {
        let tls = tls::client_config(&config.extra_roots).map_err(FetchError::Tls)?;
        Ok(Self {
            config: Arc::new(config),
            tls: Arc::new(tls).into(),
        })
    }

    /// Carries out `request`, wherever `guard` lets it lead.
    ///
    /// Redirects of a `GET` are followed, three at most, and each is guarded like the first URL.
    /// Of a body that is longer than [`MAX_BODY`](crate::exchange::MAX_BODY), one byte more is returned.
    /// Dropping the future closes the connection.
    ///
    /// # Errors
    /// There is no answer; an answer that says no is none of these.
    pub async fn fetch(&self, guard: Guard, request: &Request) -> Result<Response, FetchError> {
        let limit = self.config.timeout;
        let fetched = timeout(limit, self.follow(guard, request)).await;
        fetched.unwrap_or_else(|_| {
            let origin = origin(&request.url);
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
        let message = send::message(request).ok_or_else(|| FetchError::Malformed {
            origin: origin(url),
        })?;
        let limit = self.config.connect_timeout;
        let connecting = connect::connect(url, guard, &*self.config.resolver, &self.tls);
        let stream = timeout(limit, connecting).await.unwrap_or_else(|_| {
            let origin = origin(url);
            Err(FetchError::TimedOut { origin, limit })
        })?;
        let sent = match stream {
            Stream::Plain(stream) => send::send(stream, message).await,
            Stream::Tls(stream) => send::send(stream, message).await,
        };
        sent.map_err(|source| FetchError::Http {
            origin: origin(url),
            source,
        })
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
