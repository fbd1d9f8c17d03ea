//! State machine of a login, from the first refusal to the token, without I/O and clock.

mod config;
mod device;
mod error;
mod grant;
mod machine;
mod register;
mod search;
mod state;
mod step;
#[cfg(test)]
mod tests;

pub use crate::callback::CallbackError;
pub use crate::token_endpoint::TokenEndpointError;
pub(crate) use config::{Config, Goal, KnownServer};
pub use error::FlowError;
pub(crate) use machine::Flow;
pub(crate) use step::{GrantedTokens, Step};
