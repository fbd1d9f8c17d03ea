//! Old clients over HTTP: Streamable HTTP with sessions, and HTTP+SSE.
//!
//! # Layout
//! - [`SessionEndpoint`]: the part of an HTTP endpoint that serves old clients, and the decision
//!   which messages are theirs.
//! - `post`: from a message to a response or a stream. `get`: general streams, resumed streams, and
//!   the end of a session.
//! - `session_table`: all sessions, their owners and their expiry.
//! - `streams`, `stream_table`, `replay_buffer`: the streams of one session, their readers, and the
//!   events that are kept for clients that reconnect.
//! - `session_events`: a stream as server-sent events.
//! - `headers`, `responses`: headers and responses that only old clients have.
//!
//! # Invariants
//! - A message goes to one stream, and a stream to one connection.
//! - A lost connection cancels nothing, unless the client has no way to reconnect: in HTTP+SSE and
//!   without a session.
//! - 404 means that the session is gone and nothing else; an error of a request is 200.

mod endpoint;
mod get;
mod headers;
mod post;
mod replay_buffer;
mod responses;
mod session_events;
mod session_table;
mod stream_table;
mod streams;

pub(crate) use endpoint::SessionEndpoint;
