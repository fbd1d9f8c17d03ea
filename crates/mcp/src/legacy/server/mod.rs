//! Old clients of our services.
//!
//! # Layout
//! - `session`: one old client, opened by its `handshake`.
//! - `client_request`: one request of it, and the stream that its messages go to.
//! - `forward`: its way through the service, which is called in the name of the client.
//! - `pending_questions`: questions of the service to the client.
//! - `listen`: notifications that belong to no request.
//! - `tasks`: the tasks of 2025-11-25.
//! - `convert`: translation of results, errors and questions to older revisions.
//! - `batch`: several messages in one.
//! - `http`: sessions over HTTP. `line_session`: the session over lines, on stdio.

mod batch;
mod client_request;
mod convert;
mod forward;
mod handshake;
#[cfg(feature = "http-server")]
pub(crate) mod http;
mod line_session;
mod listen;
mod pending_questions;
mod session;
mod tasks;

pub(crate) use line_session::LineSession;
