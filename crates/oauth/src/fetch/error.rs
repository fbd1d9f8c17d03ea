use std::io;
use std::time::Duration;

use callgate_mcp::transport::http::connect::ProxyError;
use tokio_rustls::rustls;
use url::Url;

use crate::guard::GuardRefusal;

/// The request got no response.
///
/// This says nothing about a login: no token is deleted because of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// TLS cannot be set up.
    #[error("cannot set up TLS")]
    Tls(#[source] rustls::Error),
    /// The request is malformed.
    #[error("cannot send a malformed request to {origin}")]
    Malformed {
        /// Scheme, host and port.
        origin: String,
    },
    /// The URL is not allowed.
    #[error(transparent)]
    Refused(#[from] GuardRefusal),
    /// The host cannot be resolved.
    #[error("cannot resolve the host of {origin}")]
    Resolve {
        /// Scheme, host and port.
        origin: String,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// The connection failed.
    #[error("cannot connect to {origin}")]
    Connect {
        /// Scheme, host and port.
        origin: String,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// The proxy cannot be used.
    #[error("cannot connect to {origin}")]
    Proxy {
        /// Scheme, host and port.
        origin: String,
        /// Error of the proxy.
        #[source]
        source: ProxyError,
    },
    /// The TLS handshake failed.
    #[error("cannot make a secure connection to {origin}")]
    Handshake {
        /// Scheme, host and port.
        origin: String,
        /// Error of the handshake.
        #[source]
        source: io::Error,
    },
    /// The connection ended too early, or the response is not HTTP.
    #[error("{origin} sent no complete HTTP response")]
    Http {
        /// Scheme, host and port.
        origin: String,
        /// Error of the HTTP implementation.
        #[source]
        source: hyper::Error,
    },
    /// The time limit was exceeded.
    #[error("no answer from {origin} within {limit:?}")]
    TimedOut {
        /// Scheme, host and port.
        origin: String,
        /// Time limit.
        limit: Duration,
    },
    /// A redirect is not followed.
    #[error("not following a redirect of {origin}: {reason}")]
    Redirect {
        /// Scheme, host and port of the server that sent the redirect.
        origin: String,
        /// Reason for the refusal.
        reason: &'static str,
    },
}

impl FetchError {
    /// Returns true if the same request may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Resolve { .. } | Self::Connect { .. } | Self::TimedOut { .. } => true,
            // A wrong certificate or name stays wrong; a broken connection does not.
            Self::Handshake { source, .. } => !matches!(
                source.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
            ),
            Self::Http { source, .. } => !source.is_parse(),
            // A proxy that is overloaded recovers; one that wants a password or forbids a host does not.
            Self::Proxy { source, .. } => {
                matches!(source, ProxyError::Broken(_) | ProxyError::Refused(500..))
            }
            Self::Tls(_) | Self::Malformed { .. } | Self::Refused(_) | Self::Redirect { .. } => {
                false
            }
        }
    }
}

/// Origin of a URL for errors, because the rest of it may be secret.
pub(super) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}
