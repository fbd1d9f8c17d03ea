//! The load generators: hand-written and lean, so that they do not saturate before the servers.

mod http;
mod outcome;
mod stdio;

pub use http::HttpLoad;
pub use outcome::{Length, Outcome};
pub use stdio::StdioLoad;
