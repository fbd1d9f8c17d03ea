use std::fmt;

use http::HeaderValue;

use crate::service::{BoxFuture, Caller};

/// Decides who the bearer of a token acts for.
pub trait TokenVerifier: fmt::Debug + Send + Sync + 'static {
    /// Who asks.
    ///
    /// # Errors
    /// Nobody whom this server answers.
    fn verify<'a>(&'a self, presented: Option<&'a [u8]>)
    -> BoxFuture<'a, Result<Caller, Unproven>>;
}

/// Why a request is refused, in words that its sender can act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unproven {
    /// Whether the token is good, but not for this.
    pub forbidden: bool,
    /// The `WWW-Authenticate` header that goes with the refusal.
    pub challenge: HeaderValue,
}
