//! Signing of JSON Web Tokens (RFC 7515, RFC 7519).

mod key;
mod sign;
#[cfg(test)]
mod tests;

pub use key::{Algorithm, KeyError, SigningKey};
pub use sign::SignError;
pub(crate) use sign::{sign, unique_id};
#[cfg(test)]
pub(crate) use tests::tokens as test_tokens;
