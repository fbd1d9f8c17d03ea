//! Credentials that change over time, and what is done about requests that are refused.

mod every_request;
pub(crate) mod keyring;
mod refusals;
mod secrets;
