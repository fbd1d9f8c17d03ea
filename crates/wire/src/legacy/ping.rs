//! Ping, by which one side checks that the other one is there.

/// Parameters of `ping`.
pub type PingParams = crate::params::RequestParams;

/// Result of `ping`.
pub type PingResult = super::result::EmptyResult;
