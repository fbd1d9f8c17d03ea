//! Transports of old servers over HTTP.
//!
//! # Layout
//! - `http_transport`: a session of either transport; read it first.
//! - `streamable_request`: one request of Streamable HTTP, from the POST to the response, with
//!   resumption; `get_stream`: the stream of messages that belong to no request.
//! - `http_sse`: HTTP+SSE, the older transport; `resolve`: the URL that its server names.
//! - `session_link`: requests and errors of both; `lost_session`: the answers that end a session.
//! - `events`, `stream_position`: streams of events, and where to resume them.

mod events;
mod get_stream;
mod http_sse;
mod http_transport;
mod lost_session;
mod resolve;
mod session_link;
mod stream_position;
mod streamable_request;

pub(crate) use http_transport::HttpTransport;
