//! An authorizer that the test decides for.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use callgate_mcp::transport::http::client::{
    Authorizer, Credentials, HttpConfig, ModernHttpClient, Outgoing, Refused, Verdict,
};
use callgate_mcp::upstream::Remote;
use callgate_mcp::{BoxFuture, Error};
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::http_client::peer::{Peer, Received};

/// Has one token at a time, and says with each request what the request is.
pub(crate) struct Keyring {
    token: Mutex<Option<&'static str>>,
    decide: Box<Decide>,
    /// How long it takes to decide.
    time: Mutex<Duration>,
    refusals: Mutex<Vec<String>>,
    observed: Mutex<Vec<String>>,
}

/// What to do about a refusal.
type Decide = dyn Fn(&Keyring, &Refused<'_>) -> Result<Verdict, Error> + Send + Sync;

/// The header that says which request the credentials were made for.
const PROOF: HeaderName = HeaderName::from_static("dpop");

impl Keyring {
    /// A keyring with `token`, which gives up whatever is refused.
    pub(crate) fn new(token: &'static str) -> Arc<Self> {
        Self::deciding(token, |_, _| Ok(Verdict::GiveUp))
    }

    pub(crate) fn deciding(
        token: &'static str,
        decide: impl Fn(&Self, &Refused<'_>) -> Result<Verdict, Error> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            token: Mutex::new(Some(token)),
            decide: Box::new(decide),
            time: Mutex::default(),
            refusals: Mutex::default(),
            observed: Mutex::default(),
        })
    }

    /// Uses another token from now on.
    pub(crate) fn change(&self, token: &'static str) {
        *self.token.lock().unwrap() = Some(token);
    }

    /// Has no token from now on, and cannot get one.
    pub(crate) fn lose(&self) {
        *self.token.lock().unwrap() = None;
    }

    /// Takes this long to decide about refusals from now on.
    pub(crate) fn take_time(&self, time: Duration) {
        *self.time.lock().unwrap() = time;
    }

    /// What was refused so far.
    pub(crate) fn refusals(&self) -> Vec<String> {
        self.refusals.lock().unwrap().clone()
    }

    /// The nonces so far, with the status that each one came with.
    pub(crate) fn observed(&self) -> Vec<String> {
        self.observed.lock().unwrap().clone()
    }

    pub(crate) fn config(self: &Arc<Self>) -> HttpConfig {
        let mut config = HttpConfig::new("peer");
        config.authorizer = Some(self.clone());
        config
    }

    pub(crate) fn client(self: &Arc<Self>, peer: &Peer) -> ModernHttpClient {
        peer.client_with(self.config())
    }

    pub(crate) fn remote(self: &Arc<Self>, peer: &Peer) -> Remote {
        Remote::new(&peer.url, self.config()).unwrap()
    }
}

impl Authorizer for Keyring {
    fn credentials<'a>(
        &'a self,
        request: Outgoing<'a>,
    ) -> BoxFuture<'a, Result<Credentials, Error>> {
        Box::pin(async move {
            let Some(token) = *self.token.lock().unwrap() else {
                return Err(locked_out());
            };
            let value = |text: String| HeaderValue::try_from(text).unwrap();
            Ok(Credentials::none()
                .with(AUTHORIZATION, value(format!("Bearer {token}")))
                .with(PROOF, value(format!("{} {}", request.method, request.url))))
        })
    }

    fn observe(&self, status: StatusCode, headers: &HeaderMap) {
        if let Some(nonce) = headers.get("dpop-nonce") {
            let nonce = nonce.to_str().unwrap();
            let observed = format!("{} {nonce}", status.as_u16());
            self.observed.lock().unwrap().push(observed);
        }
    }

    fn refused<'a>(&'a self, refusal: Refused<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        Box::pin(async move {
            let text =
                |value: Option<&HeaderValue>| value.map_or("-", |v| v.to_str().unwrap()).to_owned();
            let seen = format!(
                "{} {}: {} {} {} from {}",
                refusal.attempt,
                refusal.request.method,
                text(refusal.credentials.headers().get(AUTHORIZATION)),
                refusal.status.as_u16(),
                text(refusal.headers.get(WWW_AUTHENTICATE)),
                refusal
                    .peer
                    .map_or("a proxy".to_owned(), |peer| peer.to_string()),
            );
            self.refusals.lock().unwrap().push(seen);
            let time = *self.time.lock().unwrap();
            tokio::time::sleep(time).await;
            (self.decide)(self, &refusal)
        })
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keyring")
    }
}

/// The error of whoever cannot get a token.
pub(crate) fn locked_out() -> Error {
    Error::new(callgate_mcp::Kind::Unauthorized, "log in first")
}

/// The token that a request was sent with.
///
/// It must be nowhere else, and its proof must be about this very request.
pub(crate) fn token_of<'a>(request: &'a Received, peer: &Peer) -> &'a str {
    let token = request.header("authorization").expect("has credentials");
    let token = token.strip_prefix("Bearer ").unwrap();
    let origin = peer.url.strip_suffix("/mcp").unwrap();
    let (method, target) = request.line.split_once(' ').unwrap();
    let target = target.strip_suffix(" HTTP/1.1").unwrap();
    assert_eq!(
        request.header("dpop"),
        Some(format!("{method} {origin}{target}").as_str())
    );
    assert!(!target.contains(token) && !request.text().contains(token));
    token
}
