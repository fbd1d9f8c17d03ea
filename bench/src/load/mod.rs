//! The load generators: hand-written and lean, so that they do not saturate before the servers.

mod http;
mod http_response;
mod outcome;
mod stdio;

pub use http::{HttpLoad, hold_sessions, hold_streams};
pub use outcome::{Length, Outcome};
pub use stdio::StdioLoad;
