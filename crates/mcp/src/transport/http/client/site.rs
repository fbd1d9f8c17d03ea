use std::error::Error as StdError;
use std::fmt;

use http::response::Parts;
use http::{HeaderMap, Request, Uri};
use tokio::time::Instant;

use super::authorized;
use super::body::Stream;
use super::config::Config;
use super::connector::Connector;
use super::endpoint::Endpoint;
use super::hold_ups::{HoldUp, HoldUps};
use super::pool::{Pool, SendError};
use super::request::{self, Body};
use crate::error::{Error, Kind};

/// One server that is reached over HTTP: where it is, the connections to it, and what every request
/// to it carries.
pub(crate) struct Site {
    endpoint: Endpoint,
    config: Config,
    target: Uri,
    constant_headers: HeaderMap,
    pool: Pool,
    hold_ups: HoldUps,
}

impl Site {
    /// The server at `url`, an `http` or `https` URL. Nothing is sent yet.
    pub(crate) fn new(url: &str, config: Config) -> Result<Self, Error> {
        let refused =
            |message: String| Error::new(Kind::Connect, message).from_upstream(&config.name);
        let endpoint =
            Endpoint::parse(url).map_err(|error| refused(error.to_string()).with_source(error))?;
        let connector = Connector::new(&endpoint, &config).map_err(|error| {
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
            pool: Pool::new(connector),
            hold_ups: HoldUps::default(),
        })
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// The whole URL, which may hold secrets.
    pub(crate) fn uri(&self) -> &Uri {
        self.endpoint.uri()
    }

    /// What stands in the request line.
    pub(crate) fn target(&self) -> &Uri {
        &self.target
    }

    /// The headers that are the same in every request.
    pub(crate) fn constant_headers(&self) -> &HeaderMap {
        &self.constant_headers
    }

    /// Sends a request, with credentials where there is somebody who gives them. Dropping the future
    /// closes the connection that carries it.
    ///
    /// # Errors
    /// No response came; a retry is safe where the request was not written. Or there are no
    /// credentials for it.
    pub(crate) async fn send(&self, request: Request<Body>) -> Result<(Parts, Stream), Error> {
        if let Some(authorizer) = &self.config.authorizer {
            return authorized::send(self, &**authorizer, request).await;
        }
        // Awaiting `send_once` here would add to the size of every call.
        let sent = self.pool.send(request).await;
        sent.map_err(|error| self.not_answered(error))
    }

    /// Sends a request as it is.
    pub(super) async fn send_once(&self, request: Request<Body>) -> Result<(Parts, Stream), Error> {
        let sent = self.pool.send(request).await;
        sent.map_err(|error| self.not_answered(error))
    }

    /// Marks a request that waits for the authorizer to decide.
    pub(super) fn hold_up(&self) -> HoldUp<'_> {
        self.hold_ups.begin()
    }

    /// Until when any request waited for the authorizer to decide, if one did.
    pub(crate) fn held_up_until(&self) -> Option<Instant> {
        self.hold_ups.until()
    }

    /// The whole URL of a request with this `target`.
    pub(super) fn url_of(&self, target: &Uri) -> Uri {
        if *target == self.target {
            return self.endpoint.uri().clone();
        }
        let mut url = self.endpoint.uri().clone().into_parts();
        url.path_and_query = target.path_and_query().cloned();
        Uri::from_parts(url).unwrap_or_else(|_| self.endpoint.uri().clone())
    }

    /// The error of a request that got no response at all.
    fn not_answered(&self, error: SendError) -> Error {
        let (name, cause) = (&self.config.name, innermost(&error));
        let failed = |kind, message: String| Error::new(kind, message).from_upstream(name);
        let failed = match &error {
            SendError::Connect(_) => {
                let message = format!(
                    "cannot connect to server `{name}` at {}: {cause}",
                    self.endpoint
                );
                failed(Kind::Connect, message).retry_safe()
            }
            SendError::Unwritten(_) => {
                let message =
                    format!("server `{name}` closed the connection before the request: {cause}");
                failed(Kind::Closed, message).retry_safe()
            }
            SendError::Lost(lost) if lost.is_parse() => failed(
                Kind::Protocol,
                format!("server `{name}` sent a malformed HTTP response: {cause}"),
            ),
            SendError::Lost(_) => failed(
                Kind::Closed,
                format!("server `{name}` closed the connection before the response: {cause}"),
            ),
        };
        failed.with_source(error)
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site")
            .field("endpoint", &self.endpoint)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// The last cause of an error, which says more than the first.
fn innermost(error: &dyn StdError) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
