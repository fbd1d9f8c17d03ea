//! Every kind of client meets every kind of server through a relay.
//!
//! # Layout
//! - `edge`: the ways to be a client or a server; `pair`: two of them with a relay between, and the
//!   check of one feature for all pairs.
//! - `server`, `asking`: what the server offers; `noted`: what it is asked; `user`: who answers
//!   its questions.
//! - All else: the features, each with what every pair is expected to make of it.

mod asking;
mod basics;
mod calls;
mod edge;
mod noted;
mod older;
mod pair;
mod questions;
mod relayed;
mod server;
mod skills;
mod subscriptions;
mod tasks;
mod user;
