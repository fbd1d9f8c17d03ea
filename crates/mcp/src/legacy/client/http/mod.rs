//! Transports of old servers over HTTP.
//!
//! # Layout
//! - `streamable_http`: Streamable HTTP with a session; read it first.
//! - `streamable_request`: one request of it, from the POST to the response, with resumption.
//! - `get_stream`: its stream of messages that belong to no request.
//! - `http_sse`: HTTP+SSE, the older transport; `pending_responses`: its requests; `resolve`: the
//!   URL that its server names.
//! - `session_link`: requests and errors of both; `lost_session`: the answers that end a session.
//! - `events`, `stream_position`: streams of events, and where to resume them.
//! - `background`: messages that no call waits for.

mod background;
mod events;
mod get_stream;
mod http_sse;
mod lost_session;
mod pending_responses;
mod resolve;
mod session_link;
mod stream_position;
mod streamable_http;
mod streamable_request;

pub(crate) use background::BackgroundSender;
pub(crate) use http_sse::HttpSse;
pub(crate) use streamable_http::StreamableHttp;
