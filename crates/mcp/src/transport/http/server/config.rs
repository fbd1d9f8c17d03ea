use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use callgate_wire::Limits as JsonLimits;
use subtle::ConstantTimeEq;

use super::documents::Document;
use super::guard::Guard;
use super::verifier::TokenVerifier;
use crate::header_param::HeaderParams;
use crate::legacy;

/// What an operator decides about a server.
#[derive(Clone)]
pub struct Config {
    /// The path of the endpoint.
    pub path: String,
    /// Which hosts and origins are answered.
    pub guard: Guard,
    /// Who may ask.
    pub auth: Auth,
    /// Finds the mirrored parameters of a tool by its name, as
    /// [`Router::header_params`](crate::router::Router::header_params) does; without it none are
    /// checked.
    pub header_params: Option<HeaderParams>,
    /// How much and how long is enough.
    pub limits: Limits,
    /// How much clients of older revisions may hold; without it they are not served.
    pub legacy: Option<legacy::server::Config>,
    /// What everybody may read, whoever may ask.
    pub documents: Vec<Document>,
}

/// Who may ask.
#[derive(Debug, Clone)]
pub enum Auth {
    /// Everybody who can connect.
    Open,
    /// Whoever knows the token.
    Bearer(BearerToken),
    /// Whoever has a token that this accepts.
    Verifier(Arc<dyn TokenVerifier>),
}

/// A secret that requests carry as `Authorization: Bearer`, and who they act for then.
#[derive(Clone)]
pub struct BearerToken {
    secret: Arc<[u8]>,
    principal: Arc<str>,
}

/// How much and how long is enough. Every limit holds per connection or request where not said
/// otherwise.
#[derive(Debug, Clone)]
pub struct Limits {
    /// How long the head of a request may take to arrive.
    pub header_timeout: Duration,
    /// The most bytes of a head; a head never has more than 100 fields.
    pub header_bytes: usize,
    /// How long a body may take to arrive.
    pub body_timeout: Duration,
    /// The most bytes of a body.
    pub body_bytes: usize,
    /// The most bytes of all bodies together which are being read or worked on. A body that came
    /// with its head, in one piece, does not count.
    pub bodies_bytes: usize,
    /// The most containers that may be open at once in a body.
    pub json_depth: usize,
    /// The most values in a body.
    pub json_values: usize,
    /// How long a connection may rest between requests, or a peer take to read anything.
    pub idle_timeout: Duration,
    /// The most connections at once.
    pub connections: usize,
    /// The most connections at once from one address.
    pub connections_per_peer: usize,
    /// How long an event stream is silent before a comment is sent.
    pub keep_alive: Duration,
    /// The most notifications of a request that wait to be sent.
    pub notifications: usize,
    /// How long accepted requests may take once the server shuts down.
    pub drain: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            path: "/mcp".to_owned(),
            guard: Guard::default(),
            auth: Auth::Open,
            header_params: None,
            limits: Limits::default(),
            legacy: Some(legacy::server::Config::default()),
            documents: Vec::new(),
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("path", &self.path)
            .field("guard", &self.guard)
            .field("auth", &self.auth)
            .field("limits", &self.limits)
            .field("legacy", &self.legacy)
            .field("documents", &self.documents)
            .finish_non_exhaustive()
    }
}

impl BearerToken {
    /// The token `secret`, whose bearers act for `principal`.
    #[must_use]
    pub fn new(secret: &str, principal: impl Into<Arc<str>>) -> Self {
        Self {
            secret: Arc::from(secret.as_bytes()),
            principal: principal.into(),
        }
    }

    /// Who `presented` acts for, found in a time that does not tell how much of it is right.
    pub(super) fn principal_of(&self, presented: &[u8]) -> Option<Arc<str>> {
        let right = bool::from(self.secret.ct_eq(presented)) && !self.secret.is_empty();
        right.then(|| self.principal.clone())
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BearerToken")
            .field("principal", &self.principal)
            .finish_non_exhaustive()
    }
}

impl Limits {
    /// The limits of what is in a body.
    pub(super) fn json(&self) -> JsonLimits {
        JsonLimits {
            bytes: self.body_bytes,
            depth: self.json_depth,
            values: self.json_values,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        let json = JsonLimits::default();
        Self {
            header_timeout: Duration::from_secs(10),
            header_bytes: 32 * 1024,
            body_timeout: Duration::from_secs(30),
            body_bytes: 4 * 1024 * 1024,
            bodies_bytes: 256 * 1024 * 1024,
            json_depth: json.depth,
            json_values: json.values,
            idle_timeout: Duration::from_secs(60),
            connections: 12_000,
            connections_per_peer: 512,
            keep_alive: Duration::from_secs(15),
            notifications: 64,
            drain: Duration::from_secs(10),
        }
    }
}
