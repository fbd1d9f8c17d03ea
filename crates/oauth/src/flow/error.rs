use url::Url;

use crate::callback::CallbackError;
use crate::metadata::MetadataError;
use crate::registration::{IdentityError, RegistrationError};
use crate::token::TokenError;

/// Says why there is no login.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// A server says something about itself that cannot be.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// No server says anything about itself where it should.
    #[error("{0} has no metadata that a login could begin with")]
    NoMetadata(String),
    /// A server has a bad moment.
    #[error("{url} is not available now (HTTP {status})")]
    Unavailable {
        /// What was asked for.
        url: Url,
        /// What it answered.
        status: u16,
    },
    /// We are nobody to the authorization server.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The authorization server did not register us.
    #[error(transparent)]
    Registration(#[from] RegistrationError),
    /// The browser brought back no code.
    #[error(transparent)]
    Callback(#[from] CallbackError),
    /// The authorization server gave no token.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The login was issued by somebody whom the server does not trust any more.
    #[error("the login is from {issuer}, which the server does not name any more")]
    IssuerChanged {
        /// Who issued it.
        issuer: String,
    },
    /// Only a configured client can prove who it is without a person.
    #[error("client credentials need a configured client with a secret")]
    NoCredentials,
    /// The caller did something other than what the last step said.
    #[error("the login expected something else")]
    OutOfOrder,
}

impl FlowError {
    /// Whether the same login may succeed later, so that nothing has to be thrown away.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable { .. } | Self::Registration(RegistrationError::Unavailable(_)) => {
                true
            }
            Self::Token(error) => error.is_transient(),
            _ => false,
        }
    }
}
