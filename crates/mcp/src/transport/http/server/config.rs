use std::fmt;
use std::time::Duration;

use callgate_wire::Limits as JsonLimits;

use super::auth::Auth;
use super::documents::Document;
use super::host_policy::Guard;
use crate::header_param::HeaderParams;
use crate::server::SessionLimits;

/// Configuration of an HTTP server.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpServerConfig {
    /// Path of the endpoint.
    pub path: String,
    /// Allowed hosts and origins.
    pub guard: Guard,
    /// Authentication of requests.
    pub auth: Auth,
    /// Finds the mirrored parameters of a tool by its name, as
    /// [`Router::header_params`](crate::router::Router::header_params) does; without it none are
    /// checked.
    pub header_params: Option<HeaderParams>,
    /// True if a call of a tool that [`Self::header_params`] does not find has the tools of the service
    /// listed first, which the lookup learns from, as that of
    /// [`HeaderParamCache`](crate::layer::HeaderParamCache) does. If the list fails, so does the call.
    pub list_unknown_tools: bool,
    /// Limits of connections and requests.
    pub limits: HttpServerLimits,
    /// Limits of sessions with clients of older revisions. Without them, or without the feature
    /// `legacy`, such clients are refused.
    pub sessions: Option<SessionLimits>,
    /// Public documents, which need no token.
    pub documents: Vec<Document>,
}

/// Limits of an HTTP server. A limit applies to one connection or request unless its doc says
/// otherwise.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpServerLimits {
    /// Time in which the head of a request has to arrive.
    pub header_timeout: Duration,
    /// Maximum bytes of a head; a head never has more than 100 fields.
    pub header_bytes: usize,
    /// Time in which a body has to arrive.
    pub body_timeout: Duration,
    /// Maximum bytes of a body.
    pub body_bytes: usize,
    /// Maximum bytes of all bodies together that are being read or worked on. A body that came
    /// with its head, in one piece, does not count.
    pub bodies_bytes: usize,
    /// Maximum unsent bytes of all answers together. Above it, new requests are refused with 503, and
    /// so is the answer to a call that ends then. Answers of less than 8 KiB do not count.
    pub unsent_bytes: usize,
    /// Maximum unsent bytes of the answers to one caller. Events that are stored for clients of older
    /// revisions that reconnect count too, up to half of it.
    pub unsent_bytes_per_caller: usize,
    /// Maximum nesting of arrays and objects in a body.
    pub json_depth: usize,
    /// Maximum number of values in a body.
    pub json_values: usize,
    /// Time after which an idle connection is closed, or one whose peer does not read.
    pub idle_timeout: Duration,
    /// Maximum number of connections.
    pub connections: usize,
    /// Maximum number of connections from one IP address.
    pub connections_per_peer: usize,
    /// Maximum number of connections without an authenticated request. At each limit of connections,
    /// the oldest of these that has no request is closed; at the other two limits else the one that
    /// has waited longest for the rest of a body, if for a second or more. If there is none, the new
    /// connection is refused.
    pub unauthenticated_connections: usize,
    /// Maximum number of concurrent requests on one HTTP/2 connection.
    pub streams: u32,
    /// Interval of keep-alive comments on a silent event stream.
    pub keep_alive: Duration,
    /// Maximum number of notifications of one request that wait to be sent.
    pub notifications: usize,
    /// Time that accepted requests have to finish when the server shuts down.
    pub drain: Duration,
}

impl Default for HttpServerConfig {
    fn default() -> Self {
        Self {
            path: "/mcp".to_owned(),
            guard: Guard::default(),
            auth: Auth::Open,
            header_params: None,
            list_unknown_tools: false,
            limits: HttpServerLimits::default(),
            sessions: Some(SessionLimits::default()),
            documents: Vec::new(),
        }
    }
}

impl fmt::Debug for HttpServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServerConfig")
            .field("path", &self.path)
            .field("guard", &self.guard)
            .field("auth", &self.auth)
            .field("limits", &self.limits)
            .field("sessions", &self.sessions)
            .field("documents", &self.documents)
            .finish_non_exhaustive()
    }
}

impl HttpServerLimits {
    /// JSON limits of a request body.
    pub(crate) fn json(&self) -> JsonLimits {
        JsonLimits::default()
            .with_bytes(self.body_bytes)
            .with_depth(self.json_depth)
            .with_values(self.json_values)
    }
}

impl Default for HttpServerLimits {
    fn default() -> Self {
        let json = JsonLimits::default();
        Self {
            header_timeout: Duration::from_secs(10),
            header_bytes: 32 * 1024,
            body_timeout: Duration::from_secs(30),
            body_bytes: 4 * 1024 * 1024,
            bodies_bytes: 256 * 1024 * 1024,
            unsent_bytes: 256 * 1024 * 1024,
            // Half of all, so that no caller takes the room of the others.
            unsent_bytes_per_caller: 128 * 1024 * 1024,
            json_depth: json.depth,
            json_values: json.values,
            idle_timeout: Duration::from_secs(60),
            // Room for requests beside the 10,000 subscriptions of a router, each of which holds a connection
            // of HTTP/1.
            connections: 12_000,
            connections_per_peer: 512,
            unauthenticated_connections: 1024,
            streams: 128,
            keep_alive: Duration::from_secs(15),
            notifications: 64,
            drain: Duration::from_secs(10),
        }
    }
}
