//! Old clients of our services.
//!
//! # Layout
//! - [`Config`]: how much old clients may hold.
//! - `era`: which messages are old.
//! - `outlet`: where messages to an old client go.
//! - `session`: one old client.
//! - `batch`: several messages in one.
//! - `http`: sessions over HTTP.

mod batch;
mod config;
mod era;
#[cfg(feature = "http-server")]
pub(crate) mod http;
mod outlet;
mod session;

pub(crate) use batch::receive as receive_batch;
pub(crate) use era::{Clues, Era, Named, decide, is_handshake};
pub(crate) use outlet::{Message, MessageKind, Outlet};
pub(crate) use session::Session;

pub use config::Config;
