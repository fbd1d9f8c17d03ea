//! A verifier whose tokens a test can read.

use std::sync::Arc;

use callgate_mcp::transport::http::server::{
    Auth, CredentialError, Document, HttpServerConfig, Presented, TokenVerifier,
};
use callgate_mcp::{BoxFuture, Caller};
use http::HeaderValue;

/// Takes `ann-…` for Ann and `bob-…` for Bob. Those that end in
/// `-narrow` are good for nothing, and of those that end in `-unknown` nobody knows.
#[derive(Debug)]
struct Badges;

/// What a request without a token is told.
pub(crate) const WHERE: &str =
    r#"Bearer resource_metadata="https://host/.well-known/oauth-protected-resource/mcp""#;
/// What the bearer of a token that is no good is told.
pub(crate) const INVALID: &str = r#"Bearer error="invalid_token""#;
/// What the bearer of a token for something else is told.
pub(crate) const NARROW: &str = r#"Bearer error="insufficient_scope", scope="mcp""#;

/// Where the documents of [`guarded`] are.
pub(crate) const DOCUMENTS: [&str; 2] = [
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
];

/// What is in each of them.
pub(crate) const DOCUMENT: &str = r#"{"resource":"https://host/mcp"}"#;

/// A server that answers those with a badge, and says to everybody where to get one.
pub(crate) fn guarded() -> HttpServerConfig {
    {
        let mut config = HttpServerConfig::default();
        config.auth = Auth::Verifier(Arc::new(Badges));
        config.documents = DOCUMENTS.map(|path| Document::new(path, DOCUMENT)).to_vec();
        config
    }
}

impl TokenVerifier for Badges {
    fn verify<'a>(
        &'a self,
        presented: Option<Presented<'a>>,
    ) -> BoxFuture<'a, Result<Caller, CredentialError>> {
        Box::pin(async move {
            // Verifying may take a while.
            tokio::task::yield_now().await;
            let unauthorized = |text| CredentialError::Unauthorized(HeaderValue::from_static(text));
            let Some(Presented::Bearer(token)) = presented else {
                return Err(unauthorized(WHERE));
            };
            let token = std::str::from_utf8(token).unwrap_or_default();
            match token.split_once('-') {
                Some((_, "narrow")) => {
                    Err(CredentialError::Forbidden(HeaderValue::from_static(NARROW)))
                }
                Some((_, "unknown")) => Err(CredentialError::Unavailable),
                Some((name @ ("ann" | "bob"), _)) => Ok(Caller::named(name)),
                _ => Err(unauthorized(INVALID)),
            }
        })
    }
}
