//! Introspection of opaque tokens (RFC 7662).

use std::sync::Arc;
use std::time::Duration;

use callgate_wire::{Limits, RawJson};
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::timeout;
use url::Url;

use super::claims::Introspected;
use super::flaw::Flaw;
use super::introspection_cache::{Answer, IntrospectionCache};
use super::source::{KeysError, Source};
use super::token::MAX_TOKEN;
use crate::Secret;
use crate::endpoint::{self, EndpointError};
use crate::http_message::Request;
use crate::metadata::introspection_endpoint;
use crate::registration::{AuthMethod, ClientInfo};
use crate::token_endpoint::Authentication;

/// Introspection of tokens that are not JWTs.
#[derive(Debug, Clone)]
pub struct Introspection {
    client: ClientInfo,
    endpoint: Option<Url>,
}

impl Introspection {
    /// Asks the issuer as the client `id`, at the endpoint in its metadata.
    #[must_use]
    pub fn new(id: impl Into<String>, secret: Secret) -> Self {
        let mut client = ClientInfo::public(id);
        client.secret = Some(secret);
        Self {
            client,
            endpoint: None,
        }
    }

    /// Asks at `url` instead, which may be on any network: the operator named it.
    ///
    /// # Errors
    /// The URL is neither https nor on this machine.
    pub fn at(mut self, url: &str) -> Result<Self, EndpointError> {
        self.endpoint = Some(endpoint::parse(url)?);
        Ok(self)
    }
}

/// Asks an issuer about tokens.
#[derive(Debug)]
pub(super) struct Introspector {
    source: Arc<Source>,
    config: Introspection,
    /// Endpoint in the metadata, once it was read.
    found: OnceCell<Url>,
    cache: IntrospectionCache,
    requests: Semaphore,
}

/// Maximum number of requests to the issuer at a time, because any client can send unknown tokens.
const MAX_REQUESTS: usize = 32;

/// Time limit of a request, the wait for its turn included. After it the token cannot be checked now, which
/// is no fault of the token.
const TIMEOUT: Duration = Duration::from_secs(10);

impl Introspector {
    pub(super) fn new(source: Arc<Source>, config: Introspection) -> Self {
        Self {
            source,
            config,
            found: OnceCell::new(),
            cache: IntrospectionCache::default(),
            requests: Semaphore::new(MAX_REQUESTS),
        }
    }

    /// Finds the endpoint before the first token.
    pub(super) async fn load(&self) -> Result<(), KeysError> {
        self.endpoint().await.map(drop)
    }

    /// The answer of the issuer about `token`, at `now` in Unix seconds.
    pub(super) async fn answer(&self, token: &[u8], now: u64) -> Answer {
        let text = match str::from_utf8(token) {
            Ok(text) if is_opaque_token(text) => text,
            _ => return Answer::Refused(Flaw::Malformed),
        };
        self.cache
            .answer(token, || self.ask_in_time(text, now))
            .await
    }

    async fn ask_in_time(&self, token: &str, now: u64) -> Answer {
        let asked = timeout(TIMEOUT, async {
            // It cannot fail: the semaphore is never closed.
            let _turn = self.requests.acquire().await.ok();
            self.ask(token, now).await
        });
        let error = match asked.await {
            Ok(Ok(answer)) => return answer,
            Ok(Err(error)) => error,
            Err(_) => KeysError::TimedOut(TIMEOUT),
        };
        let issuer = self.source.issuer();
        let error: &(dyn std::error::Error + 'static) = &error;
        tracing::warn!(issuer, error, "cannot ask the issuer about a token");
        Answer::Unavailable
    }

    async fn ask(&self, token: &str, now: u64) -> Result<Answer, KeysError> {
        let url = self.endpoint().await?;
        let is_chosen = self.config.endpoint.is_some();
        let body = self
            .source
            .post(&self.request(url, token), is_chosen)
            .await?;
        Ok(read(&body, self.source.issuer(), now))
    }

    async fn endpoint(&self) -> Result<&Url, KeysError> {
        if let Some(url) = &self.config.endpoint {
            return Ok(url);
        }
        let find = || self.source.find(introspection_endpoint);
        self.found.get_or_try_init(find).await
    }

    fn request(&self, url: &Url, token: &str) -> Request {
        let authentication = Authentication {
            client: &self.config.client,
            method: AuthMethod::ClientSecretBasic,
            issuer: self.source.issuer(),
        };
        let fields = [("token", token), ("token_type_hint", "access_token")];
        let form = authentication.form(url.clone(), &fields, 0);
        form.expect("a secret signs nothing")
    }
}

/// Meaning of a response. One that cannot be read says nothing about the token.
fn read(body: &[u8], issuer: &str, now: u64) -> Answer {
    // No key may occur twice, so that all readers see the same claims.
    let json = RawJson::parse_strict(body.to_vec().into(), &Limits::default());
    let read = json
        .ok()
        .and_then(|json| json.decode::<Introspected>().ok());
    let Some(found) = read else {
        tracing::warn!(issuer, "the introspection response is malformed");
        return Answer::Unavailable;
    };
    // First: nothing else is said about an inactive token (RFC 7662, section 2.2).
    if !found.active {
        return Answer::Refused(Flaw::Inactive);
    }
    let left = found.exp.map(|end| (end - now as f64).max(0.0) as u64);
    match found.claims(issuer) {
        Ok(claims) => Answer::Active(Box::new(claims), left),
        Err(flaw) => Answer::Refused(flaw),
    }
}

/// True for the characters that a token may have (RFC 6750, section 2.1).
fn is_opaque_token(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    (1..=MAX_TOKEN).contains(&text.len()) && text.bytes().all(is_allowed)
}
