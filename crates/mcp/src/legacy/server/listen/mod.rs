//! What an old client hears that belongs to none of its requests.
//!
//! # Layout
//! - `subscriptions`: what a session knows about it; starts the listener when there is use for it.
//! - `listener`: one `subscriptions/listen` request at a time, and the next one when its filter
//!   changes or when it is lost.
//! - `untold`: changes that wait to be told, each once.

mod listener;
mod subscriptions;
mod untold;

pub(super) use listener::Change;
pub(super) use subscriptions::Subscriptions;
