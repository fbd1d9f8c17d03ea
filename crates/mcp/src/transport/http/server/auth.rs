use std::fmt;
use std::sync::Arc;

use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use subtle::ConstantTimeEq;

use super::head::Field;
use super::response::Refusal;
use crate::service::{BoxFuture, Caller, Principal};

/// Authentication of requests.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Auth {
    /// None: every client that can connect may call.
    Open,
    /// One shared bearer token.
    Bearer(BearerToken),
    /// Bearer tokens that this verifier accepts.
    Verifier(Arc<dyn TokenVerifier>),
}

/// Secret that requests carry as `Authorization: Bearer`, and the principal that it stands for.
#[derive(Clone)]
pub struct BearerToken {
    secret: Arc<[u8]>,
    caller: Caller,
}

/// Verifies bearer tokens.
///
/// Every request waits for it, before its body is read. A session of an older revision belongs to
/// the caller that opened it, so the same user must be the same caller with every token.
pub trait TokenVerifier: fmt::Debug + Send + Sync + 'static {
    /// The caller that the token stands for; `None` is a request with no token, or with several.
    ///
    /// # Errors
    /// The token is missing or not accepted, or cannot be verified now.
    fn verify<'a>(
        &'a self,
        presented: Option<&'a [u8]>,
    ) -> BoxFuture<'a, Result<Caller, CredentialError>>;
}

/// Reason why a credential is refused. A challenge is sent as the `WWW-Authenticate` header.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CredentialError {
    /// There is no token, or an invalid one: 401.
    Unauthorized(HeaderValue),
    /// The token is valid, but does not grant enough: 403.
    Forbidden(HeaderValue),
    /// The token cannot be verified now: 503, so that the client keeps it.
    Unavailable,
}

impl BearerToken {
    /// The token `secret` of `principal`.
    #[must_use]
    pub fn new(secret: &str, principal: impl Into<Principal>) -> Self {
        Self {
            secret: Arc::from(secret.as_bytes()),
            caller: principal.into().into(),
        }
    }

    /// The caller, if `presented` is the secret. Takes the same time however much of it is right.
    fn caller_of(&self, presented: &[u8]) -> Option<Caller> {
        let right = bool::from(self.secret.ct_eq(presented)) && !self.secret.is_empty();
        right.then(|| self.caller.clone())
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BearerToken")
            .field("principal", &self.caller.principal().map(Principal::name))
            .finish_non_exhaustive()
    }
}

/// The caller of a request, by its token.
pub(super) async fn identify(headers: &HeaderMap, auth: &Auth) -> Result<Caller, Refusal> {
    match auth {
        Auth::Open => Ok(Caller::Anonymous),
        Auth::Bearer(token) => {
            let caller = presented(headers).and_then(|presented| token.caller_of(presented));
            caller.ok_or(Refusal::Unauthorized)
        }
        Auth::Verifier(verifier) => {
            let verified = verifier.verify(presented(headers)).await;
            verified.map_err(|error| Refusal::Credential(Box::new(error)))
        }
    }
}

/// The token of a request that has exactly one.
fn presented(headers: &HeaderMap) -> Option<&[u8]> {
    let credentials = Field::of(headers, AUTHORIZATION).once()?;
    let (scheme, presented) = credentials.split_at_checked(b"Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(presented)
}
