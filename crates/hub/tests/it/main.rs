//! Behavior of a hub over servers in this process.

#![cfg(test)]

mod calls;
mod fake_server;
mod lists;
mod reconnecting;
mod saved_catalogs;
mod simulation;
mod status;
mod subscriptions;
mod tool_policy;
