use std::io;
use std::time::Duration;

use tokio_rustls::rustls;

use crate::guard::Refusal;

/// Why there is no answer.
///
/// Whatever it is, it says nothing about a login: no token has to be thrown away because of it.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// TLS cannot be set up.
    #[error("cannot set up TLS")]
    Tls(#[source] rustls::Error),
    /// The request cannot be written.
    #[error("cannot send a malformed request to {origin}")]
    Malformed {
        /// Scheme, host and port.
        origin: String,
    },
    /// The URL leads where it must not.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The host has no address, or it cannot be found out.
    #[error("cannot find the address of {origin}")]
    Resolve {
        /// Scheme, host and port.
        origin: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// There is no connection to be had.
    #[error("cannot connect to {origin}")]
    Connect {
        /// Scheme, host and port.
        origin: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The server did not prove who it is.
    #[error("cannot make a secure connection to {origin}")]
    Handshake {
        /// Scheme, host and port.
        origin: String,
        /// What was wrong.
        #[source]
        source: io::Error,
    },
    /// The connection ended too early, or what came was no HTTP.
    #[error("{origin} sent no whole HTTP response")]
    Http {
        /// Scheme, host and port.
        origin: String,
        /// What was wrong.
        #[source]
        source: hyper::Error,
    },
    /// It took too long.
    #[error("no answer from {origin} within {limit:?}")]
    TimedOut {
        /// Scheme, host and port.
        origin: String,
        /// How long it may take.
        limit: Duration,
    },
    /// A redirect is not followed.
    #[error("not following a redirect of {origin}: {reason}")]
    Redirect {
        /// Scheme, host and port of whoever sent it.
        origin: String,
        /// Why not.
        reason: &'static str,
    },
}

impl FetchError {
    /// Whether the same request may be answered later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Resolve { .. } | Self::Connect { .. } | Self::TimedOut { .. } => true,
            // A certificate stays wrong; a connection that was cut does not.
            Self::Handshake { source, .. } => source.kind() != io::ErrorKind::InvalidData,
            Self::Http { source, .. } => !source.is_parse(),
            Self::Tls(_) | Self::Malformed { .. } | Self::Refused(_) | Self::Redirect { .. } => {
                false
            }
        }
    }
}
