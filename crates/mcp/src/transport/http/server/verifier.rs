use std::fmt;

use http::HeaderValue;

use crate::service::{BoxFuture, Caller};

/// Decides who the bearer of a token acts for.
///
/// Every request waits for it, before its body is read. A session of an older revision stays with
/// the caller who opened it, so the same person must be the same caller with every token.
pub trait TokenVerifier: fmt::Debug + Send + Sync + 'static {
    /// Who asks, by the token that the request presents; `None` where it presents none, or more
    /// than one.
    ///
    /// # Errors
    /// Nobody whom this server answers.
    fn verify<'a>(&'a self, presented: Option<&'a [u8]>)
    -> BoxFuture<'a, Result<Caller, Unproven>>;
}

/// Why a request is refused; a challenge goes with the refusal as its `WWW-Authenticate` header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unproven {
    /// There is no token, or none that is good: 401.
    Unauthorized(HeaderValue),
    /// The token is good, but not for this: 403.
    Forbidden(HeaderValue),
    /// Nobody can tell now whether the token is good: 503, so that its bearer keeps it.
    Unavailable,
}
