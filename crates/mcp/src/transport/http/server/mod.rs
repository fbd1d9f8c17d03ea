//! Streamable HTTP, the server side.
//!
//! # Layout
//! - [`Endpoint`]: the service that answers requests, from their heads to their responses. Read it
//!   to see the order of checks. [`Listener`]: an endpoint with a [`Socket`] of its own.
//! - [`HttpServerConfig`], [`Guard`], [`Auth`], [`HttpServerLimits`]: configuration.
//! - [`TokenVerifier`]: verifies tokens. [`Document`]: public documents.
//! - `fields`, `head`, `host_policy`, `auth`, `body_reader`, `mirror`: the checks. `tool_listing`: lists of
//!   tools that `mirror` needs.
//! - `event_stream`, `response`, `body`: from a call to its response.
//! - `connections`, `connection_health`, `tls`: connections of a listener.
//! - `http1_guard`: protection against request smuggling on them.
//!
//! Clients of older revisions are served through the trait `HttpSessions` of the endpoint.

mod auth;
mod body;
mod body_reader;
mod config;
mod connection_health;
mod connections;
mod documents;
mod endpoint;
mod event_stream;
mod fields;
mod head;
mod host_policy;
mod http1_guard;
mod listener;
mod mirror;
mod repoll;
pub(crate) mod response;
mod socket;
#[cfg(feature = "server-tls")]
mod tls;
mod tool_listing;

#[cfg(feature = "legacy")]
pub(crate) use body::{EventChunks, LARGE};
#[cfg(feature = "legacy")]
pub(crate) use endpoint::SessionAnswer;
pub(crate) use endpoint::{Draining, HttpSessions};
#[cfg(feature = "legacy")]
pub(crate) use head::{Accepts, Admission};

pub use auth::{Auth, BearerToken, CredentialError, DpopToken, Presented, TokenVerifier};
pub use body::ResponseBody;
pub use config::{HttpServerConfig, HttpServerLimits};
pub use documents::Document;
pub use endpoint::{Endpoint, RemoteAddress, ShutdownHandle};
pub use host_policy::Guard;
pub use listener::Listener;
pub use socket::Socket;
