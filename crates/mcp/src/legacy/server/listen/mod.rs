//! Notifications to an old client that belong to none of its requests.
//!
//! # Layout
//! - `subscriptions`: subscriptions of one session; starts the listener when it is needed.
//! - `subscription_listener`: one `subscriptions/listen` request at a time, and the next one when
//!   its filter changes or when it is lost.
//! - `pending_changes`: changes that wait to be sent, each once.

mod pending_changes;
mod subscription_listener;
mod subscriptions;

pub(super) use subscription_listener::Change;
pub(super) use subscriptions::Subscriptions;
