//! Getting tokens from the token endpoint (OAuth 2.1, section 3.2).

mod authentication;
mod request;
mod response;

pub(crate) use authentication::Authentication;
pub(crate) use request::DEVICE_CODE;
pub use request::{Grant, TokenRequest};
pub(crate) use response::seconds;
pub use response::{TokenError, TokenType, Tokens};
