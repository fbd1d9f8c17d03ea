//! Getting tokens from the token endpoint (OAuth 2.1, section 3.2).

mod request;
mod response;

pub use request::{Grant, TokenRequest};
pub use response::{TokenError, TokenType, Tokens};
