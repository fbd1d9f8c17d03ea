//! Behavior of the crate as its users see it.

#![cfg(test)]

#[cfg(all(feature = "http-client", feature = "http-server"))]
mod authorizer;
#[cfg(all(feature = "legacy", feature = "http-client", feature = "http-server"))]
mod bridge_matrix;
#[cfg(unix)]
mod child_fixture;
mod child_process;
mod child_tree;
mod client_cache;
mod client_calls;
mod client_input;
mod client_listen;
#[cfg(feature = "schema")]
mod client_output;
mod client_pages;
mod client_scripted;
mod client_skills;
mod client_tasks;
#[cfg(all(feature = "http-client", feature = "http-server"))]
mod http_client;
#[cfg(feature = "http-server")]
mod http_server;
mod layers;
#[cfg(all(feature = "legacy", feature = "http-client", feature = "http-server"))]
mod legacy_client;
#[cfg(all(feature = "legacy", feature = "http-client", feature = "http-server"))]
mod legacy_http;
#[cfg(all(feature = "legacy", feature = "http-client", feature = "http-server"))]
mod legacy_remote;
#[cfg(all(feature = "legacy", feature = "http-client", feature = "http-server"))]
mod legacy_server;
#[cfg(all(feature = "legacy", feature = "http-client", feature = "http-server"))]
mod observer;
mod router;
mod stdio_client;
mod stdio_fixture;
mod stdio_process;
mod stdio_server;
mod upstream_state;
#[cfg(all(
    not(feature = "legacy"),
    feature = "http-client",
    feature = "http-server"
))]
mod upstream_without_legacy;
#[cfg(not(feature = "legacy"))]
mod without_legacy;
