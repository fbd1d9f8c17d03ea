//! Interoperation with other implementations, each of them in its mode of revision 2026-07-28.

#![cfg(test)]

mod our_client;
mod our_server;
mod python;
mod rmcp_client;
mod rmcp_server;
