//! What a user of the crate sees, one file per subject.

mod stdio_client;
mod stdio_fixture;
mod stdio_server;
