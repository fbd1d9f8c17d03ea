//! Interoperation with other implementations, in their mode of revision 2026-07-28 but where said.

#![cfg(test)]

mod our_client;
mod our_server;
mod python;
mod rmcp_client;
mod rmcp_old_client;
mod rmcp_server;
