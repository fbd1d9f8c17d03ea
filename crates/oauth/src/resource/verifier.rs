use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use callgate_mcp::transport::http::server::{CredentialError, Presented, TokenVerifier};
use callgate_mcp::{BoxFuture, Caller, Principal};
use sha2::{Digest, Sha256};
use url::Url;

use super::claims::{Claims, Grant};
use super::description::Description;
use super::flaw::Flaw;
use super::introspection::{Introspection, Introspector};
use super::introspection_cache::Answer;
use super::keys::Keys;
use super::name::ResourceName;
use super::proof::{self, ProvenRequest};
use super::refusal::{Challenges, Refusal, Scheme};
use super::replay::ReplayCache;
use super::source::{KeysError, Source, SourceError};
use super::token::Token;
use crate::metadata::MetadataError;
use crate::{Scopes, fetch};

/// Configuration of a [`Verifier`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// Issuer of the tokens, byte for byte as it writes itself.
    pub issuer: String,
    /// Public URL of the server, the required audience of a token unless others are configured.
    pub resource: ResourceName,
    /// Path of the endpoint. Behind some proxies it differs from that of the public URL.
    pub path: String,
    /// Accepted audiences, one of which a token must have, byte for byte. If there are none, the
    /// audience is the public URL.
    pub audiences: Vec<String>,
    /// Scopes that every token must have.
    pub scopes: Scopes,
    /// Introspection of tokens that are not JWTs; without it they are refused.
    pub introspection: Option<Introspection>,
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
            audiences: Vec::new(),
            scopes: Scopes::default(),
            introspection: None,
            fetch: fetch::Config::default(),
        }
    }
}

/// Verifies access tokens of the issuer for this server: JWTs (RFC 9068), opaque tokens (RFC 7662), and
/// either of them bound to a key of the client (RFC 9449).
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
    introspector: Option<Introspector>,
    /// URL that proofs are for.
    url: Url,
    used_proofs: ReplayCache,
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
            audiences,
            scopes,
            introspection,
            fetch,
        } = config;
        let description = Description::new(&resource, &path, &issuer, &scopes);
        let source = Arc::new(Source::new(&issuer, fetch)?);
        Ok(Self {
            keys: Keys::new(source.clone()),
            introspector: introspection.map(|config| Introspector::new(source, config)),
            audiences: match audiences.is_empty() {
                true => resource.audiences(),
                false => audiences,
            },
            url: resource.url().clone(),
            used_proofs: ReplayCache::default(),
            challenges: Challenges::new(&description.url, &scopes),
            issuer,
            scopes,
            description,
        })
    }

    /// Fetches the keys of the issuer before the first request, and finds its introspection endpoint.
    ///
    /// A transient error can be ignored: both are fetched when they are needed.
    ///
    /// # Errors
    /// The keys or the endpoint are not available. An issuer of opaque tokens needs no keys.
    pub async fn load(&self) -> Result<(), KeysError> {
        let keys = self.keys.load().await;
        let Some(introspector) = &self.introspector else {
            return keys;
        };
        introspector.load().await?;
        match keys {
            Err(KeysError::Metadata(MetadataError::NoEndpoint(_))) => Ok(()),
            keys => keys,
        }
    }

    /// Public metadata document of the server, with its paths.
    pub fn documents(&self) -> impl Iterator<Item = (&str, Bytes)> {
        let Description { paths, json, .. } = &self.description;
        paths.iter().map(|path| (path.as_str(), json.clone()))
    }

    /// Checks a token at `now`, in Unix seconds.
    ///
    /// The order matters: the format and the claims come before the signature, so that only a
    /// plausible token causes a fetch of keys; the proof comes after it, so that only a client with a
    /// token fills the memory of proofs; the scopes come last, so that a forged token learns nothing
    /// about them.
    async fn check(
        &self,
        presented: Option<Presented<'_>>,
        now: u64,
    ) -> Result<Principal, Refusal> {
        let presented = presented.ok_or(Refusal::NoToken)?;
        let token = match presented {
            Presented::Bearer(token) => token,
            Presented::Dpop(dpop) => dpop.token,
        };
        let (grant, digest) = match (Token::parse(token), &self.introspector) {
            // Only what is no JWT at all: a JWT with a flaw gets no second chance.
            (Err(Flaw::Malformed), Some(introspector)) => {
                self.introspected(introspector, token, now).await?
            }
            (token, _) => {
                let token = token?;
                let claims: Claims = token.claims()?;
                let grant = claims.check(&self.issuer, &self.audiences, now)?;
                self.keys.prove(&token).await?;
                (grant, token.digest())
            }
        };
        self.check_possession(&presented, grant.key.as_deref(), now)?;
        if !self.scopes.iter().all(|scope| grant.scopes.contains(scope)) {
            return Err(Refusal::InsufficientScope);
        }
        // The digest is no secret, and names a token that has no id of its own.
        let credential = grant.token_id.unwrap_or(digest);
        // All scopes of the token, not only the required ones: a policy may ask for more.
        let scopes = grant.scopes.iter();
        Ok(Principal::new(format!("{}#{}", self.issuer, grant.subject))
            .with_scopes(scopes)
            .with_credential(credential))
    }

    /// Grant and digest of an opaque token.
    async fn introspected(
        &self,
        introspector: &Introspector,
        token: &[u8],
        now: u64,
    ) -> Result<(Grant, String), Refusal> {
        let claims = match introspector.answer(token, now).await {
            Answer::Active(claims, _) => claims,
            Answer::Refused(flaw) => return Err(flaw.into()),
            Answer::Unavailable => return Err(Refusal::Unavailable),
        };
        let grant = claims.check(&self.issuer, &self.audiences, now)?;
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(token));
        Ok((grant, format!("sha256-{digest}")))
    }

    /// Checks that a token that is bound to a key comes with a proof by that key, and another one with
    /// none.
    fn check_possession(
        &self,
        presented: &Presented<'_>,
        key: Option<&str>,
        now: u64,
    ) -> Result<(), Refusal> {
        let (dpop, key) = match (presented, key) {
            (Presented::Bearer(_), None) => return Ok(()),
            (Presented::Dpop(dpop), Some(key)) => (dpop, key),
            (Presented::Dpop(_), None) => return Err(Flaw::NotBound.into()),
            // A stolen token must not become valid by another scheme.
            (Presented::Bearer(_), Some(_)) => return Err(Flaw::Bound.into()),
        };
        let request = ProvenRequest {
            method: dpop.method.as_str(),
            url: &self.url,
            token: dpop.token,
            key,
        };
        let proof = proof::check(dpop.proof.ok_or(Flaw::NoProof)?, &request, now)?;
        // Last: a proof that is refused for another reason takes no room.
        self.used_proofs.admit(&proof, now)
    }
}

impl TokenVerifier for Verifier {
    fn verify<'a>(
        &'a self,
        presented: Option<Presented<'a>>,
    ) -> BoxFuture<'a, Result<Caller, CredentialError>> {
        Box::pin(async move {
            match self.check(presented, now()).await {
                Ok(principal) => Ok(principal.into()),
                Err(refusal) => {
                    tracing::debug!(?refusal, "refused a request");
                    let scheme = match presented {
                        Some(Presented::Dpop(_)) => Scheme::Dpop,
                        Some(Presented::Bearer(_)) | None => Scheme::Bearer,
                    };
                    Err(self.challenges.answer(refusal, scheme))
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
