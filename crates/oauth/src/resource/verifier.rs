use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use callgate_mcp::transport::http::server::{TokenVerifier, Unproven};
use callgate_mcp::{BoxFuture, Caller};

use super::claims::Claims;
use super::description::Description;
use super::keys::Keys;
use super::name::ResourceName;
use super::refusal::{Challenges, Refusal};
use super::source::{KeysError, Source, SourceError};
use super::token::Token;
use crate::{Scopes, fetch};

/// What an operator decides about the tokens of a server.
#[derive(Debug, Clone)]
pub struct Config {
    /// Who issues the tokens, byte for byte as the issuer writes itself.
    pub issuer: String,
    /// The name of the server, which tokens must be for.
    pub resource: ResourceName,
    /// The path of the endpoint, which is another than that of the name behind some proxies.
    pub path: String,
    /// The scopes that every token must have.
    pub scopes: Scopes,
    /// How the keys of the issuer are fetched.
    pub fetch: fetch::Config,
}

/// Lets in whoever has a token that the issuer signed for this server (RFC 9068).
///
/// A caller is known by the issuer, `#` and the subject of the token: two issuers may mean two people by one name, and
/// nobody gets the name of a caller who has no token.
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
    /// Gets ready; nothing is fetched yet.
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

    /// Fetches the keys of the issuer before the first token comes.
    ///
    /// Nothing has to be done about a transient error: the keys are fetched when they are needed.
    ///
    /// # Errors
    /// There are no keys to be had.
    pub async fn load(&self) -> Result<(), KeysError> {
        self.keys.load().await
    }

    /// The document with which the server describes itself, and the paths that everybody may read it at.
    pub fn documents(&self) -> impl Iterator<Item = (&str, Bytes)> {
        let Description { paths, json, .. } = &self.description;
        paths.iter().map(|path| (path.as_str(), json.clone()))
    }

    /// Whom the bearer of a token acts for, at `now` in seconds since 1970.
    ///
    /// Whatever needs no key is checked first, so that only tokens that could be good make anybody fetch one.
    async fn judge(&self, presented: Option<&[u8]>, now: u64) -> Result<String, Refusal> {
        let token = Token::parse(presented.ok_or(Refusal::NoToken)?)?;
        let claims: Claims = token.claims()?;
        let grant = claims.check(&self.issuer, &self.audiences, now)?;
        self.keys.prove(&token).await?;
        if !self.scopes.iter().all(|scope| grant.scopes.contains(scope)) {
            return Err(Refusal::InsufficientScope);
        }
        Ok(format!("{}#{}", self.issuer, grant.subject))
    }
}

impl TokenVerifier for Verifier {
    fn verify<'a>(
        &'a self,
        presented: Option<&'a [u8]>,
    ) -> BoxFuture<'a, Result<Caller, Unproven>> {
        Box::pin(async move {
            match self.judge(presented, now()).await {
                Ok(principal) => Ok(Caller::Principal(Arc::from(principal))),
                Err(refusal) => {
                    tracing::debug!(?refusal, "nobody is let in");
                    Err(self.challenges.answer(refusal))
                }
            }
        })
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
    elapsed.map_or(0, |elapsed| elapsed.as_secs())
}
