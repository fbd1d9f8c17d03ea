//! Old clients of our services.
//!
//! # Layout
//! - [`Config`]: how much old clients may hold.
//! - `outlet`: where messages to an old client go.

mod config;
mod outlet;

pub(crate) use outlet::{Message, MessageKind, Outlet};

pub use config::Config;
