use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::{Error, Kind};
use url::Url;

use crate::browser::PageUrlError;
use crate::consent::ConsentError;
use crate::fetch::FetchError;
use crate::flow::FlowError;
use crate::registration::{ClientIdentityError, NeedsClientRegistration};
use crate::store::StoreError;
use crate::{ProviderError, Scopes};

/// Error of a [`TokenSource`](super::TokenSource): there is no usable token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The user has to log in, and no consent is configured.
    #[error(transparent)]
    NeedsLogin(Box<NeedsLogin>),
    /// The user has to register a client first.
    #[error(transparent)]
    NeedsClientRegistration(NeedsClientRegistration),
    /// The login or the refresh failed.
    #[error(transparent)]
    Flow(FlowError),
    /// A request to the authorization server failed.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The user did not consent.
    #[error(transparent)]
    Consent(#[from] ConsentError),
    /// The URL of the authorization page is not safe to open.
    #[error(transparent)]
    Page(#[from] PageUrlError),
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system has no random numbers.
    #[error("the operating system returned no random bytes")]
    Random(#[source] getrandom::Error),
    /// The token has characters that no header may have.
    #[error("the token has characters that no header may have")]
    Unsendable,
    /// The key of a DPoP-bound token is missing or damaged.
    #[error("the key that the token is bound to is missing or damaged")]
    NoKey,
    /// The identity token cannot be read from its file.
    #[error("cannot read the identity token from `{}`", path.display())]
    Assertion {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// The initial access token of a registration cannot be read from its file.
    #[error("cannot read the initial access token from `{}`", path.display())]
    InitialAccessToken {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// The authorization server refused this identity token before.
    #[error("the identity token was refused before; provide a new one")]
    AssertionRefused,
    /// The server needs no login.
    #[error("the server needs no login")]
    Unwanted,
    /// The request to the MCP server that begins a login failed.
    #[error(transparent)]
    Server(Error),
    /// The last attempt failed, and its backoff has not ended.
    #[error("the last attempt failed ({cause}); Callgate will try again in {wait:?}")]
    TooEarly {
        /// Error of the last attempt.
        cause: String,
        /// Rest of the backoff.
        wait: Duration,
    },
    /// No token within the time limit.
    #[error("no token was issued within {0:?}")]
    TimedOut(Duration),
    /// The task that was getting the token was aborted.
    #[error("the token request was interrupted")]
    Interrupted,
}

/// A login is needed, and only the user can make it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("login needed at {server}: {reason}")]
#[non_exhaustive]
pub struct NeedsLogin {
    /// URL of the server.
    pub server: Url,
    /// Name of the account, if the user has several at this server.
    pub account: Option<String>,
    /// Reason why the stored login is not enough.
    pub reason: LoginReason,
}

/// Reason why the user has to log in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoginReason {
    /// No login is stored.
    #[error("no login is stored")]
    NoLogin,
    /// The token has expired, and there is no refresh token.
    #[error("the stored login has expired and has no refresh token")]
    Expired,
    /// The authorization server has revoked the login.
    #[error("the authorization server has revoked the stored login")]
    Revoked,
    /// The authorization server refuses to refresh the token. The login is kept, because this may
    /// be temporary.
    #[error("the authorization server refuses to refresh the stored login: {0}")]
    NotRefreshed(Box<ProviderError>),
    /// The server names another authorization server now.
    #[error(
        "the stored login belongs to {issuer}, but the server names another authorization server now"
    )]
    IssuerChanged {
        /// Issuer of the stored login.
        issuer: String,
    },
    /// The configuration names a token endpoint of another origin than that of the login.
    #[error(
        "the stored login belongs to {stored}, but the configuration names the token endpoint {configured} now, which was not sent anything; a new login switches to it"
    )]
    EndpointChanged {
        /// Origin of the stored login.
        stored: String,
        /// Token endpoint of the configuration.
        configured: Url,
    },
    /// The login belongs to a client that is not configured any more.
    #[error("the stored login belongs to another client")]
    ClientChanged,
    /// The stored token or its key is damaged.
    #[error("the stored login is damaged")]
    Unusable,
    /// The server refuses a token that was issued just now.
    #[error("the server refuses a token that was issued just now")]
    Refused,
    /// The token lacks scopes.
    #[error("the token lacks the scopes {scopes}")]
    Scopes {
        /// All scopes that the login has to request.
        scopes: Scopes,
    },
}

impl TokenError {
    /// Returns true if the login is intact and the same request may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Flow(error) => error.is_transient(),
            Self::Fetch(error) => error.is_transient(),
            Self::Store(error) => matches!(error, StoreError::Busy { .. }),
            Self::TooEarly { .. } | Self::TimedOut(_) | Self::Interrupted => true,
            _ => false,
        }
    }

    /// Converts to the error of a request to the server `name`, which was not sent.
    ///
    /// Its source is [`NeedsLogin`] or [`NeedsClientRegistration`] where the user can help.
    pub(super) fn of_request(self: &Arc<Self>, name: &Arc<str>) -> Error {
        let kind = match **self {
            _ if self.is_transient() => Kind::Connect,
            Self::Fetch(_) => Kind::Connect,
            Self::Store(_)
            | Self::Random(_)
            | Self::Assertion { .. }
            | Self::InitialAccessToken { .. } => Kind::Internal,
            _ => Kind::Unauthorized,
        };
        let message = format!("no token for server `{name}`: {self}");
        let mut error = Error::new(kind, message).from_upstream(name);
        if self.is_transient() {
            error = error.retry_safe();
        }
        match &**self {
            Self::NeedsLogin(needed) => error.with_source(NeedsLogin::clone(needed)),
            Self::NeedsClientRegistration(needed) => error.with_source(needed.clone()),
            _ => error.with_source(self.clone()),
        }
    }

    /// Reverses [`of_request`](Self::of_request), if `error` was made by it.
    pub(super) fn behind(error: Error) -> Arc<Self> {
        let source = std::error::Error::source(&error);
        if let Some(source) = source {
            if let Some(known) = source.downcast_ref::<Arc<Self>>() {
                return known.clone();
            }
            if let Some(needed) = source.downcast_ref::<NeedsLogin>() {
                return Arc::new(Self::NeedsLogin(Box::new(needed.clone())));
            }
            if let Some(needed) = source.downcast_ref::<NeedsClientRegistration>() {
                return Arc::new(Self::NeedsClientRegistration(needed.clone()));
            }
        }
        Arc::new(Self::Server(error))
    }
}

impl From<FlowError> for TokenError {
    fn from(error: FlowError) -> Self {
        match error {
            FlowError::Identity(ClientIdentityError::Needed(needed)) => {
                Self::NeedsClientRegistration(needed)
            }
            error => Self::Flow(error),
        }
    }
}
