//! Old servers over HTTP.
//!
//! # Layout
//! - `streamable`: Streamable HTTP with a session; read it first.
//! - `exchange`: one request of it, from the POST to the response, over however many streams.
//! - `listener`: its stream of messages that belong to no request.
//! - `two_endpoints`: HTTP+SSE, the transport before it; `waiting` are its requests.
//! - `link`: what both send, and what they make of a refusal (`refusal`).
//! - `events`, `frames`, `position`: what comes back, and where to resume it.
//! - `resolve`: the URL that the server of HTTP+SSE names.
//! - `background`: small things to send that nobody waits for.

mod background;
mod events;
mod exchange;
mod frames;
mod link;
mod listener;
mod position;
mod refusal;
mod resolve;
mod streamable;
mod two_endpoints;
mod waiting;

pub(super) use background::Background;
pub(super) use events::Events;
pub(super) use streamable::Streamable;
pub(super) use two_endpoints::TwoEndpoints;
