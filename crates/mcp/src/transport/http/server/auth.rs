use std::fmt;
use std::sync::Arc;

use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use http::{HeaderName, Method};
use subtle::ConstantTimeEq;

use super::fields::Field;
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
    /// Tokens that this verifier accepts.
    Verifier(Arc<dyn TokenVerifier>),
}

/// Secret that requests carry as `Authorization: Bearer`, and the principal that it stands for.
#[derive(Clone)]
pub struct BearerToken {
    secret: Arc<[u8]>,
    caller: Caller,
}

/// Token of a request, by the scheme of its header `Authorization`. `Debug` shows no token.
///
/// Complete: each verifier must decide about each scheme.
#[derive(Clone, Copy)]
#[expect(
    clippy::exhaustive_enums,
    reason = "each verifier must decide about each scheme"
)]
pub enum Presented<'a> {
    /// `Bearer`: the token is enough (RFC 6750).
    Bearer(&'a [u8]),
    /// `DPoP`: the token counts only with its proof of possession (RFC 9449).
    Dpop(DpopToken<'a>),
}

/// Token that is bound to a key, and the parts of its request that the proof is about.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct DpopToken<'a> {
    /// Token.
    pub token: &'a [u8],
    /// Header `DPoP`, if there is exactly one.
    pub proof: Option<&'a [u8]>,
    /// Method of the request.
    pub method: &'a Method,
}

/// Verifies tokens.
///
/// Every request waits for it, before its body is read. A session of an older revision belongs to
/// the caller that opened it, so the same user must be the same caller with every token.
pub trait TokenVerifier: fmt::Debug + Send + Sync + 'static {
    /// The caller that the token stands for; `None` is a request with no token of a known scheme, or
    /// with several.
    ///
    /// # Errors
    /// The token is missing or not accepted, or cannot be verified now.
    fn verify<'a>(
        &'a self,
        presented: Option<Presented<'a>>,
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

impl fmt::Debug for Presented<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bearer(_) => "Bearer(***)",
            Self::Dpop(_) => "Dpop(***)",
        })
    }
}

impl fmt::Debug for DpopToken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DpopToken(***)")
    }
}

impl<'a> DpopToken<'a> {
    /// Token of a request with this method, and its proof.
    #[must_use]
    pub const fn new(token: &'a [u8], proof: Option<&'a [u8]>, method: &'a Method) -> Self {
        Self {
            token,
            proof,
            method,
        }
    }
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
        // An empty secret would let a request with an empty token in.
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
pub(super) async fn identify(
    headers: &HeaderMap,
    method: &Method,
    auth: &Auth,
) -> Result<Caller, Refusal> {
    match auth {
        Auth::Open => Ok(Caller::Anonymous),
        Auth::Bearer(token) => {
            let caller = match presented(headers, method) {
                Some(Presented::Bearer(presented)) => token.caller_of(presented),
                Some(Presented::Dpop(_)) | None => None,
            };
            caller.ok_or(Refusal::Unauthorized)
        }
        Auth::Verifier(verifier) => {
            let verified = verifier.verify(presented(headers, method)).await;
            verified.map_err(|error| Refusal::Credential(Box::new(error)))
        }
    }
}

const DPOP: HeaderName = HeaderName::from_static("dpop");

/// The token of a request that has exactly one.
fn presented<'a>(headers: &'a HeaderMap, method: &'a Method) -> Option<Presented<'a>> {
    // A repeated field counts as none: a proxy in front may have looked at another one of them.
    let credentials = Field::of(headers, AUTHORIZATION).once()?;
    let space = credentials.iter().position(|byte| *byte == b' ')?;
    let (scheme, token) = credentials.split_at_checked(space)?;
    let token = token.get(1..)?;
    if scheme.eq_ignore_ascii_case(b"Bearer") {
        return Some(Presented::Bearer(token));
    }
    let proof = Field::of(headers, DPOP).once();
    let dpop = DpopToken {
        token,
        proof,
        method,
    };
    let is_dpop = scheme.eq_ignore_ascii_case(b"DPoP");
    is_dpop.then_some(Presented::Dpop(dpop))
}
