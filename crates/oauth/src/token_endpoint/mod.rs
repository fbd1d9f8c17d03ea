//! Requests and responses of the token endpoint (OAuth 2.1, section 3.2).

mod authentication;
mod request;
mod response;

pub(crate) use authentication::Authentication;
pub(crate) use request::DEVICE_CODE;
pub(crate) use request::{GrantForm, TokenRequest};
pub use response::TokenEndpointError;
pub(crate) use response::{TokenResponse, TokenType};
pub(crate) use response::{scopes, seconds};
