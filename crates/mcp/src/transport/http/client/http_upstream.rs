use std::error::Error as StdError;
use std::fmt;

use http::response::Parts;
use http::{HeaderMap, Request, Uri};
use tokio::time::Instant;

use super::authorized::{self, AuthWaits};
use super::body::BodyStream;
use super::config::HttpConfig;
use super::endpoint::Endpoint;
use super::observed;
use super::pool::{Pool, SendError};
use super::request::{self, Body};
use crate::error::{Error, Kind};
use crate::transport::http::certificates::is_without_tls;

/// One server that is reached over HTTP: its URL, its connections, and the headers of every request.
pub(crate) struct HttpUpstream {
    endpoint: Endpoint,
    config: HttpConfig,
    /// Request target: path and query.
    pub(crate) target: Uri,
    /// Headers that are the same in every request.
    pub(crate) constant_headers: HeaderMap,
    pool: Pool,
    pub(super) auth_waits: AuthWaits,
}

impl HttpUpstream {
    /// The server at `url`, an `http` or `https` URL. No request is sent yet.
    pub(crate) fn new(url: &str, config: HttpConfig) -> Result<Self, Error> {
        let refused =
            |message: String| Error::new(Kind::Connect, message).from_upstream(&config.name);
        let endpoint =
            Endpoint::parse(url).map_err(|error| refused(error.to_string()).with_source(error))?;
        let pool = Pool::new(&endpoint, &config).map_err(|error| {
            refused(format!(
                "cannot set up TLS for server `{}`: {error}",
                config.name
            ))
            .with_source(error)
        })?;
        Ok(Self {
            target: endpoint.target(),
            constant_headers: request::constant_headers(&endpoint, &config.headers),
            endpoint,
            config,
            pool,
            auth_waits: AuthWaits::default(),
        })
    }

    pub(crate) fn config(&self) -> &HttpConfig {
        &self.config
    }

    /// The whole URL, which may hold secrets.
    #[cfg(feature = "legacy")]
    pub(crate) fn uri(&self) -> &Uri {
        self.endpoint.uri()
    }

    /// Sends a request, with the credentials of the authorizer if there is one. Dropping the future
    /// closes the connection that carries the request.
    ///
    /// # Errors
    /// No response came; a retry is safe if the request was not written. Or there are no credentials
    /// for it.
    pub(crate) async fn send(&self, request: Request<Body>) -> Result<(Parts, BodyStream), Error> {
        if let Some(authorizer) = &self.config.authorizer {
            return authorized::send(self, &**authorizer, request).await;
        }
        if self.config.observer.is_some() {
            return Box::pin(self.send_once(request)).await;
        }
        // Not by `send_once`: awaiting it would add to the size of the future of every call.
        let sent = self.pool.send(request).await;
        sent.map_err(|error| self.not_answered(error))
    }

    /// Makes sure that the server accepts connections, without a request.
    ///
    /// # Errors
    /// No connection can be made.
    pub(crate) async fn check(&self) -> Result<(), Error> {
        let checked = self.pool.check().await;
        checked.map_err(|error| self.not_answered(error))
    }

    /// Sends a request as it is, seen by the observer.
    pub(super) async fn send_once(
        &self,
        request: Request<Body>,
    ) -> Result<(Parts, BodyStream), Error> {
        let observer = self.config.observer.as_ref();
        if let Some(observer) = observer {
            observed::request(observer, &request);
        }
        let sent = self.pool.send(request).await;
        let (head, body) = sent.map_err(|error| self.not_answered(error))?;
        match observer {
            Some(observer) => {
                let observer = observed::response(observer, &head, &self.config.limits);
                Ok((head, body.observed_by(observer)))
            }
            None => Ok((head, body)),
        }
    }

    /// Time until which a request waited for the authorizer, if one did.
    pub(crate) fn auth_wait_until(&self) -> Option<Instant> {
        self.auth_waits.until()
    }

    /// The whole URL of a request with this `target`.
    pub(super) fn url_of(&self, target: &Uri) -> Uri {
        if *target == self.target {
            return self.endpoint.uri().clone();
        }
        // Messages over HTTP+SSE go to another path, which the server names.
        let mut url = self.endpoint.uri().clone().into_parts();
        url.path_and_query = target.path_and_query().cloned();
        Uri::from_parts(url).unwrap_or_else(|_| self.endpoint.uri().clone())
    }

    /// The error of a request without a response.
    fn not_answered(&self, error: SendError) -> Error {
        let name = &self.config.name;
        let cause = match is_without_tls(&error) {
            true => "the server does not speak TLS there: use http://".to_owned(),
            false => innermost(&error),
        };
        let via = self
            .pool
            .proxy()
            .map(|proxy| format!(" through the proxy {proxy}"));
        let via = via.unwrap_or_default();
        let failed = |kind, message: String| Error::new(kind, message).from_upstream(name);
        let failed = match &error {
            SendError::Connect(_) | SendError::Http(_) => {
                let message = format!(
                    "cannot connect to server `{name}` at {}{via}: {cause}",
                    self.endpoint
                );
                failed(Kind::Connect, message).retry_safe()
            }
            SendError::Unwritten(_) => {
                let message = format!(
                    "server `{name}` closed the connection{via} before the request: {cause}"
                );
                failed(Kind::Closed, message).retry_safe()
            }
            // From here on a retry is not known to be safe: the server may have acted on the part that it
            // got.
            SendError::Lost(lost) if lost.is_parse() => failed(
                Kind::Protocol,
                format!("server `{name}` sent a malformed HTTP response{via}: {cause}"),
            ),
            SendError::Lost(_) => failed(
                Kind::Closed,
                format!("server `{name}` closed the connection{via} before the response: {cause}"),
            ),
        };
        failed.with_source(error)
    }
}

impl fmt::Debug for HttpUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpUpstream")
            .field("endpoint", &self.endpoint)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// Innermost cause of an error, which says the most.
fn innermost(error: &dyn StdError) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
