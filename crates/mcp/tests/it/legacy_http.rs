//! Clients of older revisions at the HTTP server, spoken to over raw TCP.

mod batches;
mod eras;
mod general;
#[cfg(target_os = "linux")]
mod memory;
mod posts;
mod resumption;
mod sessions;
mod sse;
mod subject;
