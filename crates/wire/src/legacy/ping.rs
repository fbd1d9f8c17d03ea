//! Whether the other side is there.

/// Parameters of `ping`.
pub type PingParams = crate::params::RequestParams;

/// Result of `ping`.
pub type PingResult = super::result::EmptyResult;
