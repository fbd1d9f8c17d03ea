use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use callgate_mcp::transport::http::server::{CredentialError, TokenVerifier};
use callgate_mcp::{BoxFuture, Caller, Principal};

use super::claims::Claims;
use super::description::Description;
use super::keys::Keys;
use super::name::ResourceName;
use super::refusal::{Challenges, Refusal};
use super::source::{KeysError, Source, SourceError};
use super::token::Token;
use crate::{Scopes, fetch};

/// Configuration of a [`Verifier`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// Issuer of the tokens, byte for byte as it writes itself.
    pub issuer: String,
    /// Public URL of the server, the required audience of a token.
    pub resource: ResourceName,
    /// Path of the endpoint. Behind some proxies it differs from that of the public URL.
    pub path: String,
    /// Scopes that every token must have.
    pub scopes: Scopes,
    /// HTTP client for the keys of the issuer.
    pub fetch: fetch::Config,
}

impl Config {
    /// Requires no scopes, and fetches keys with the default limits.
    #[must_use]
    pub fn new(issuer: impl Into<String>, resource: ResourceName, path: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            resource,
            path: path.into(),
            scopes: Scopes::default(),
            fetch: fetch::Config::default(),
        }
    }
}

/// Verifies access tokens that the issuer signed for this server (RFC 9068).
///
/// The principal is the issuer, `#` and the subject of the token: two issuers may use one name for
/// two people, and no caller without a token has such a name.
#[derive(Debug)]
pub struct Verifier {
    issuer: String,
    audiences: Vec<String>,
    scopes: Scopes,
    description: Description,
    challenges: Challenges,
    keys: Keys,
}

impl Verifier {
    /// Creates the verifier; nothing is fetched yet.
    ///
    /// # Errors
    /// The issuer could never be asked for its keys.
    pub fn new(config: Config) -> Result<Self, SourceError> {
        let Config {
            issuer,
            resource,
            path,
            scopes,
            fetch,
        } = config;
        let description = Description::new(&resource, &path, &issuer, &scopes);
        Ok(Self {
            keys: Keys::new(Source::new(&issuer, fetch)?),
            audiences: resource.audiences(),
            challenges: Challenges::new(&description.url, &scopes),
            issuer,
            scopes,
            description,
        })
    }

    /// Fetches the keys of the issuer before the first request.
    ///
    /// A transient error can be ignored: the keys are fetched when they are needed.
    ///
    /// # Errors
    /// The keys are not available.
    pub async fn load(&self) -> Result<(), KeysError> {
        self.keys.load().await
    }

    /// Public metadata document of the server, with its paths.
    pub fn documents(&self) -> impl Iterator<Item = (&str, Bytes)> {
        let Description { paths, json, .. } = &self.description;
        paths.iter().map(|path| (path.as_str(), json.clone()))
    }

    /// Checks a token at `now`, in Unix seconds.
    ///
    /// The order matters: the format and the claims come before the signature, so that only a
    /// plausible token causes a fetch of keys; the scopes come last, so that a forged token learns
    /// nothing about them.
    async fn check(&self, presented: Option<&[u8]>, now: u64) -> Result<Principal, Refusal> {
        let token = Token::parse(presented.ok_or(Refusal::NoToken)?)?;
        let claims: Claims = token.claims()?;
        let grant = claims.check(&self.issuer, &self.audiences, now)?;
        self.keys.prove(&token).await?;
        if !self.scopes.iter().all(|scope| grant.scopes.contains(scope)) {
            return Err(Refusal::InsufficientScope);
        }
        // The digest is no secret, and names a token that has no id of its own.
        let credential = grant.token_id.unwrap_or_else(|| token.digest());
        // All scopes of the token, not only the required ones: a policy may ask for more.
        let scopes = grant.scopes.iter();
        Ok(Principal::new(format!("{}#{}", self.issuer, grant.subject))
            .with_scopes(scopes)
            .with_credential(credential))
    }
}

impl TokenVerifier for Verifier {
    fn verify<'a>(
        &'a self,
        presented: Option<&'a [u8]>,
    ) -> BoxFuture<'a, Result<Caller, CredentialError>> {
        Box::pin(async move {
            match self.check(presented, now()).await {
                Ok(principal) => Ok(principal.into()),
                Err(refusal) => {
                    tracing::debug!(?refusal, "refused a request");
                    Err(self.challenges.answer(refusal))
                }
            }
        })
    }
}

/// Current time in Unix seconds.
fn now() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
    elapsed.map_or(0, |elapsed| elapsed.as_secs())
}
