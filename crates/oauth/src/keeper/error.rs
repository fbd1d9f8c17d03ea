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
use crate::registration::{IdentityError, NeedsClientRegistration};
use crate::store::StoreError;
use crate::{ProviderError, Scopes};

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// A person has to log in, and nobody could be asked.
    #[error(transparent)]
    NeedsLogin(#[from] NeedsLogin),
    /// A person has to register a client first.
    #[error(transparent)]
    NeedsClientRegistration(NeedsClientRegistration),
    /// The login or the renewal ended without a token.
    #[error(transparent)]
    Flow(FlowError),
    /// A server did not answer.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A person did not answer.
    #[error(transparent)]
    Consent(#[from] ConsentError),
    /// The authorization page is not one to be opened.
    #[error(transparent)]
    Page(#[from] PageUrlError),
    /// Logins cannot be read or kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system has no randomness.
    #[error("the system gives no random numbers")]
    Random(#[source] getrandom::Error),
    /// The token cannot be sent.
    #[error("the token has characters that no header may have")]
    Unsendable,
    /// The token is bound to a key that is not there.
    #[error("the key that the token is bound to is missing or damaged")]
    NoKey,
    /// The token that stands for a workload cannot be read.
    #[error("cannot read the identity token from `{}`", path.display())]
    Assertion {
        /// Where it should be.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The token that stands for a workload was refused before.
    #[error("the identity token has been refused; whoever issued it has to issue another one")]
    AssertionRefused,
    /// There is nothing to log in to.
    #[error("the server wants no login")]
    Unwanted,
    /// The server cannot be asked what it wants.
    #[error(transparent)]
    Server(Error),
    /// The authorization server had a bad moment, and it is too early to ask again.
    #[error("the last attempt failed ({cause}); the next is due in {wait:?}")]
    TooEarly {
        /// What went wrong.
        cause: String,
        /// How long to wait.
        wait: Duration,
    },
    /// All of it took too long.
    #[error("there was no token within {0:?}")]
    TimedOut(Duration),
    /// Whoever was getting the token came to an end.
    #[error("getting a token was interrupted")]
    Interrupted,
}

/// Says that a person has to log in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a login at {server} is needed: {reason}")]
pub struct NeedsLogin {
    /// The server.
    pub server: Url,
    /// Why.
    pub reason: Reason,
}

/// Why a person has to log in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// There is no login.
    #[error("there is none")]
    NoLogin,
    /// The token is not good any more, and nothing renews it.
    #[error("the last one has ended, and nothing renews it")]
    Ended,
    /// The authorization server does not renew the login any more.
    #[error("the authorization server does not renew the last one any more")]
    Revoked,
    /// The authorization server refuses to renew the login, which stays in case it changes its mind.
    #[error("the authorization server refuses to renew the last one: {0}")]
    NotRenewed(Box<ProviderError>),
    /// The server has moved to another authorization server.
    #[error("the last one is from {issuer}, which the server does not name any more")]
    IssuerChanged {
        /// Who issued the login.
        issuer: String,
    },
    /// The login was made by a client that we are not any more.
    #[error("the last one was made by another client")]
    ClientChanged,
    /// The token or the key that it is bound to is damaged.
    #[error("the last one is damaged")]
    Unusable,
    /// The server refuses what was issued just now.
    #[error("the server refuses the token that it was given")]
    Refused,
    /// The login does not cover what was asked for.
    #[error("the scopes {scopes} are missing")]
    Scopes {
        /// All that has to be asked for.
        scopes: Scopes,
    },
}

impl KeeperError {
    /// Whether nothing is lost and the same may succeed later.
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

    /// This error as that of a request to the server called `name`, which was not carried out.
    ///
    /// Its source is [`NeedsLogin`] or [`NeedsClientRegistration`] where a person can help.
    pub(super) fn of_request(self: &Arc<Self>, name: &Arc<str>) -> Error {
        let kind = match **self {
            _ if self.is_transient() => Kind::Connect,
            Self::Fetch(_) => Kind::Connect,
            Self::Store(_) | Self::Random(_) | Self::Assertion { .. } => Kind::Internal,
            _ => Kind::Unauthorized,
        };
        let message = format!("no token for server `{name}`: {self}");
        let mut error = Error::new(kind, message).from_upstream(name);
        if self.is_transient() {
            error = error.retry_safe();
        }
        match &**self {
            Self::NeedsLogin(needed) => error.with_source(needed.clone()),
            Self::NeedsClientRegistration(needed) => error.with_source(needed.clone()),
            _ => error.with_source(self.clone()),
        }
    }

    /// What [`of_request`](Self::of_request) made `error` of, or `error` itself.
    pub(super) fn behind(error: Error) -> Arc<Self> {
        let source = std::error::Error::source(&error);
        if let Some(source) = source {
            if let Some(known) = source.downcast_ref::<Arc<Self>>() {
                return known.clone();
            }
            if let Some(needed) = source.downcast_ref::<NeedsLogin>() {
                return Arc::new(Self::NeedsLogin(needed.clone()));
            }
            if let Some(needed) = source.downcast_ref::<NeedsClientRegistration>() {
                return Arc::new(Self::NeedsClientRegistration(needed.clone()));
            }
        }
        Arc::new(Self::Server(error))
    }
}

impl From<FlowError> for KeeperError {
    fn from(error: FlowError) -> Self {
        match error {
            FlowError::Identity(IdentityError::Needed(needed)) => {
                Self::NeedsClientRegistration(needed)
            }
            error => Self::Flow(error),
        }
    }
}
