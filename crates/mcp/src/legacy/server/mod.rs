//! Old clients of our services.
//!
//! # Layout
//! - [`Config`]: how much old clients may hold.
//! - `era`: which messages are old.
//! - `outlet`: where messages to an old client go.
//! - `session`: one old client, opened by its `handshake`.
//! - `forward`: one request on its way through the `upstream` service; `running` are all of them.
//! - `ask`: what the service wants to know; `questions` are all of them.
//! - `listen`: what belongs to no request.
//! - `tasks`: the tasks of 2025-11-25.
//! - `convert`: from the newest revision to theirs.
//! - `batch`: several messages in one.
//! - `http`: sessions over HTTP.
//! - `line_session`: the session over lines, on stdio.

mod ask;
mod batch;
mod config;
mod convert;
mod era;
mod forward;
mod handshake;
#[cfg(feature = "http-server")]
pub(crate) mod http;
mod line_session;
mod listen;
mod outlet;
mod questions;
mod running;
mod session;
mod tasks;
mod upstream;

pub(crate) use batch::is_batch;
pub(crate) use era::is_handshake;
pub(crate) use line_session::LineSession;
pub(crate) use outlet::{Message, Outlet};

pub use config::Config;
