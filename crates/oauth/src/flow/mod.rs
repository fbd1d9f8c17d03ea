//! A login from the first refusal to the token, as a machine that says what to do next.

mod config;
mod device;
mod error;
mod grant;
mod machine;
mod search;
mod state;
mod step;
#[cfg(test)]
mod tests;

pub use config::{Config, Goal};
pub use error::FlowError;
pub use machine::Flow;
pub use step::{Login, Step};
