use url::Url;

use crate::callback::CallbackError;
use crate::device::DeviceError;
use crate::id_jag::ExchangeError;
use crate::jwt::{KeyError, SignError};
use crate::metadata::MetadataError;
use crate::registration::{ClientIdentityError, RegistrationError};
use crate::token_endpoint::TokenEndpointError;

/// Error of a login, a refresh or a revocation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FlowError {
    /// The metadata of a server is invalid.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// There is no metadata.
    #[error("{0} has no OAuth metadata, so no login can begin")]
    NoMetadata(String),
    /// A server is unavailable.
    #[error("{url} is unavailable (HTTP {status})")]
    Unavailable {
        /// URL of the request.
        url: Url,
        /// HTTP status.
        status: u16,
    },
    /// No client can be used at this authorization server.
    #[error(transparent)]
    Identity(#[from] ClientIdentityError),
    /// The registration failed.
    #[error(transparent)]
    Registration(#[from] RegistrationError),
    /// The redirect brought no code.
    #[error(transparent)]
    Callback(#[from] CallbackError),
    /// The token endpoint issued no token.
    #[error(transparent)]
    Token(#[from] TokenEndpointError),
    /// The login belongs to an issuer that the server does not name any more.
    #[error("the login belongs to {issuer}, but the server names another authorization server now")]
    IssuerChanged {
        /// Issuer of the login.
        issuer: String,
    },
    /// Client credentials need a configured client.
    #[error("client credentials need a configured client with a secret or a private key")]
    NoCredentials,
    /// A grant without a user needs a configured client.
    #[error(
        "{issuer} does not know this client, and a login without a user needs a configured one"
    )]
    NoClient {
        /// Issuer that does not know this client.
        issuer: String,
    },
    /// The identity provider refused.
    #[error(transparent)]
    IdentityProvider(#[from] ExchangeError),
    /// The device code grant failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The server requires DPoP, and its authorization server does not support it.
    #[error("the server requires DPoP-bound tokens, but {issuer} does not support DPoP with ES256")]
    NoDpop {
        /// Issuer without DPoP.
        issuer: String,
    },
    /// No DPoP key could be generated.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A token or a proof could not be signed.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// The authorization server has no revocation endpoint.
    #[error("{issuer} has no revocation endpoint")]
    NoRevocation {
        /// Issuer without the endpoint.
        issuer: String,
    },
    /// The authorization server refused to revoke the token.
    #[error("the authorization server did not revoke the token (HTTP {0})")]
    NotRevoked(u16),
    /// The caller did not follow the last step.
    #[error("the login received an unexpected message")]
    OutOfOrder,
}

impl FlowError {
    /// Returns true if the authorization server does not know the client, or does not let it log in.
    pub(crate) fn is_unknown_client(&self) -> bool {
        match self {
            Self::Token(error) => error.is_invalid_client(),
            Self::Callback(CallbackError::Denied(refusal)) => refusal.is_invalid_client(),
            _ => false,
        }
    }

    /// Returns true if the same flow may succeed later, so that the login is kept.
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
