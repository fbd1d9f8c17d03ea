//! Resource server: verifies the access tokens that clients send to our own endpoint.
//!
//! # Layout
//! - [`Verifier`]: checks the token of a request. Read this for the order of the checks.
//! - [`ResourceName`], `description`: public URL of the endpoint, and its metadata document.
//! - `token`, `claims`, `flaw`: format of a token, checks of its claims, and errors.
//! - [`Introspection`], `introspection_cache`: tokens that only the issuer can read.
//! - `proof`, `replay`: proofs of possession, each of which is used once.
//! - `algorithm`, `key_set`: verification of a signature.
//! - `schedule`, `source`, `keys`: time, place and cache of the issuer's keys.
//! - `refusal`: challenges.

mod algorithm;
mod claims;
mod description;
mod flaw;
#[doc(hidden)]
pub mod fuzzing;
mod introspection;
mod introspection_cache;
mod key_set;
mod keys;
mod name;
mod proof;
mod refusal;
mod replay;
mod schedule;
mod source;
mod token;
mod verifier;

#[cfg(test)]
mod tests;

pub use introspection::Introspection;
pub use name::{ResourceName, ResourceNameError};
pub use source::{KeysError, SourceError};
pub use verifier::{Config, Verifier};
