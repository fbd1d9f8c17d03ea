//! Resource server: verifies the access tokens that clients send to our own endpoint.
//!
//! # Layout
//! - [`Verifier`]: checks the token of a request. Read this for the order of the checks.
//! - [`ResourceName`], `description`: public URL of the endpoint, and its metadata document.
//! - `token`, `claims`, `flaw`: format of a token, checks of its claims, and errors.
//! - `algorithm`, `key_set`: verification of a signature.
//! - `schedule`, `source`, `keys`: time, place and cache of the issuer's keys.
//! - `refusal`: challenges.

mod algorithm;
mod claims;
mod description;
mod flaw;
#[doc(hidden)]
pub mod fuzzing;
mod key_set;
mod keys;
mod name;
mod refusal;
mod schedule;
mod source;
mod token;
mod verifier;

#[cfg(test)]
mod tests;

pub use name::{ResourceName, ResourceNameError};
pub use source::{KeysError, SourceError};
pub use verifier::{Config, Verifier};
