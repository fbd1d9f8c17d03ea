//! Streamable HTTP, the answering side.
//!
//! # Layout
//! - [`Server`]: listens, counts connections, closes what takes too long, drains.
//! - [`Config`], [`Guard`], [`Auth`], [`Limits`]: what an operator decides.
//! - [`TokenVerifier`]: decides whom a token stands for.
//! - `connection`: one connection, from its first byte to its last.
//! - `exchange`: one request, from its head to its response. Read this to see the order of checks.
//! - [`Document`]: what everybody may read.
//! - `fields`, `guard`, `head`, `caller`, `intake`, `posted`, `mirror`: the checks.
//! - `legacy`: the way to what serves older revisions.
//! - `answer`, `body`, `events`: the responses.
//! - `framing`, `tap`, `vitals`: what is watched on a connection beneath HTTP.

mod answer;
mod body;
mod caller;
mod config;
mod connection;
mod documents;
mod events;
mod exchange;
mod fields;
mod framing;
mod guard;
mod head;
mod intake;
mod legacy;
mod listener;
mod mirror;
mod posted;
mod running;
mod tap;
mod verifier;
mod vitals;

pub(crate) use posted::Posted;

pub use config::{Auth, BearerToken, Config, Limits};
pub use documents::Document;
pub use guard::Guard;
pub use listener::{Server, ShutdownHandle};
pub use verifier::{TokenVerifier, Unproven};
