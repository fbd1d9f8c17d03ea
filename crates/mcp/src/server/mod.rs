//! From a message to a call, and from its outcome back to a message.
//!
//! # Layout
//! - `accept`: the call that a request of the newest revision makes. `reply`: its response.
//! - `running_call`: polls one call. `in_flight`: the running requests of one client, within limits.
//! - `client_notifications`: notifications of clients that are passed on.
//! - `client_message`, `revisions`: messages of other revisions, and the adapters that take them.
//! - `unsent_budget`: memory of answers that clients have not read.
//! - [`SessionLimits`]: limits of those adapters.

pub(crate) mod accept;
mod client_message;
pub(crate) mod client_notifications;
mod in_flight;
pub(crate) mod reply;
pub(crate) mod revisions;
mod running_call;
mod session_limits;
#[cfg(feature = "http-server")]
mod unsent_budget;

pub(crate) use client_message::ClientMessage;
pub(crate) use client_notifications::ClientNotifications;
pub(crate) use in_flight::{InFlight, RunningRequest};
pub(crate) use running_call::{CallEvent, RunningCall};
#[cfg(feature = "http-server")]
pub(crate) use unsent_budget::{CallerBudget, RETRY_AFTER, UnsentBudget};

pub use session_limits::SessionLimits;
