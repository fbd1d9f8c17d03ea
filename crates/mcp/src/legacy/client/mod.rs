//! Client side of the revisions before 2026-07-28: an old server as a service.
//!
//! # Layout
//! - `session`: the service; read it first. `handshake`, `server_info`: how it is opened.
//! - `forward`: one call, from the request to the reply; `running_call`: its half at the server;
//!   `call_table`: all running calls; `timeout_queue`: those that wait for input of their clients.
//! - `server_messages`: messages of the server, and the call that each belongs to; `question`:
//!   requests of the server; `url_elicitations`: the URLs that users have to open; `reply_sender`:
//!   our answers; `background`: messages that no call waits for.
//! - `listen`, `resource_subscriptions`: subscriptions to changes.
//! - `tasks`: calls that continue as tasks.
//! - `convert`: messages of one revision in the terms of another.
//! - `transport`: the trait of the transports; `line_transport`: lines; `http`: both HTTP transports.

pub(crate) mod background;
mod call_table;
mod convert;
mod forward;
mod handshake;
#[cfg(feature = "http-client")]
pub(crate) mod http;
pub(crate) mod line_transport;
mod listen;
mod listen_streams;
mod question;
mod reply_sender;
mod resource_subscriptions;
mod running_call;
mod server_info;
mod server_messages;
pub(crate) mod session;
mod tasks;
mod timeout_queue;
pub(crate) mod transport;
mod url_elicitations;

#[cfg(feature = "http-client")]
pub(crate) use transport::{MessageSender, OldRequest, SessionTransport};
