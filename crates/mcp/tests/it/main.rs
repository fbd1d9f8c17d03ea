//! Behavior of the crate as its users see it.

#![cfg(test)]

mod authorizer;
mod bridge_matrix;
#[cfg(unix)]
mod child_fixture;
mod child_process;
mod child_tree;
mod client_cache;
mod client_calls;
mod client_input;
mod client_listen;
mod client_output;
mod client_pages;
mod client_scripted;
mod client_tasks;
mod http_client;
mod http_server;
mod legacy_client;
mod legacy_http;
mod legacy_remote;
mod legacy_server;
mod router;
mod stdio_client;
mod stdio_fixture;
mod stdio_process;
mod stdio_server;
