//! Interoperation with other implementations, each of them in all its eras.

#![cfg(test)]
#![cfg(feature = "legacy")]

mod bridge;
mod everything;
mod fastmcp;
mod inspector;
mod listener;
mod our_client;
mod our_server;
mod peer;
mod python;
mod python_client;
mod rmcp_client;
mod rmcp_old_client;
mod rmcp_server;
mod servers;
mod upstream;
mod user;
