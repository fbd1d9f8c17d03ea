//! Behavior of a hub over servers in this process.

#![cfg(test)]

mod calls;
mod fake_server;
mod lists;
mod reconnecting;
mod simulation;
mod subscriptions;
