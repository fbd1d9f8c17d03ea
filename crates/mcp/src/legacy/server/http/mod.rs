//! Old clients over HTTP: Streamable HTTP with sessions, and HTTP+SSE.
//!
//! # Layout
//! - [`Endpoint`]: the part of an HTTP server that old clients see; what a message belongs to.
//! - `post`, `reading`: from a message to a response or a stream.
//! - `get`: streams of messages that belong to no request, streams that were cut, and the end.
//! - `stream_session`: HTTP+SSE.
//! - `store`, `entry`, `session_id`: which sessions there are, whose, and for how long.
//! - `streams`, `source`, `table`, `replay`, `event_id`: what is said in a session, by whom it is
//!   read, and what is kept for a connection that was cut.
//! - `events`: a stream as server-sent events.
//! - `headers`, `answer`: what old clients say and get besides messages.
//!
//! # Invariants
//! - A message goes to one stream, and a stream to one connection.
//! - Losing a connection cancels nothing, but where the client has no way to come back: in HTTP+SSE
//!   and without a session.
//! - 404 means that the session is gone and nothing else; an error of a request is 200.

mod answer;
mod endpoint;
mod entry;
mod event_id;
mod events;
mod get;
mod headers;
mod post;
mod reading;
mod replay;
mod session_id;
mod source;
mod store;
mod stream_session;
mod streams;
mod table;

pub(crate) use answer::{Answer, Content};
pub(crate) use endpoint::{Claim, Endpoint, Settings, Visitor};
pub(crate) use events::Events;
