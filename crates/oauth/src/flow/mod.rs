//! A login from the first refusal to the token, as a machine that says what to do next.

mod config;
mod error;
mod machine;
mod search;
#[cfg(test)]
mod tests;

pub use config::{Config, Goal};
pub use error::FlowError;
pub use machine::{Flow, Login, Step};
