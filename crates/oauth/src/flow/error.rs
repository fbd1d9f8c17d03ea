use url::Url;

use crate::callback::CallbackError;
use crate::device::DeviceError;
use crate::id_jag::ExchangeError;
use crate::jwt::{KeyError, SignError};
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
    #[error("client credentials need a configured client with a secret or a private key")]
    NoCredentials,
    /// Without a person nobody becomes a client.
    #[error("{issuer} does not know us, and a login without a person needs a configured client")]
    NoClient {
        /// Who does not.
        issuer: String,
    },
    /// The identity provider did not say that we may use the server.
    #[error(transparent)]
    IdentityProvider(#[from] ExchangeError),
    /// Nobody consented on another device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The server takes bound tokens only, and its authorization server does not bind them to keys like ours.
    #[error(
        "the server takes no token that is not bound to a key, and {issuer} does not say that it binds tokens with ES256"
    )]
    NoDpop {
        /// Who does not say so.
        issuer: String,
    },
    /// A key to bind tokens to could not be made.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A proof could not be made.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// The authorization server forgets tokens only when they end.
    #[error("{issuer} revokes no tokens")]
    NoRevocation {
        /// Who does not.
        issuer: String,
    },
    /// The authorization server did not forget the token.
    #[error("the authorization server did not revoke the token (HTTP {0})")]
    NotRevoked(u16),
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
            Self::IdentityProvider(error) => error.is_transient(),
            Self::Device(DeviceError::Unavailable(_)) => true,
            _ => false,
        }
    }
}
