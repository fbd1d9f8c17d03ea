//! Credentials that change over time, and what is done about requests that are refused.

#[cfg(feature = "legacy")]
mod every_request;
#[cfg_attr(
    not(feature = "legacy"),
    expect(dead_code, reason = "most tests of credentials need old servers too")
)]
pub(crate) mod keyring;
#[cfg(feature = "legacy")]
mod refusals;
#[cfg(feature = "legacy")]
mod secrets;
