//! Behavior of a hub over servers in this process.

#![cfg(test)]

mod calls;
mod fake_server;
mod large_results;
mod limits;
mod lists;
mod private_servers;
mod reconnecting;
mod saved_catalogs;
mod simulation;
mod status;
mod subscriptions;
mod tasks;
mod tool_policy;
