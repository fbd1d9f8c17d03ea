//! Our own endpoint as a resource server: who may ask, and how the others learn where to get a token.
//!
//! # Layout
//! - [`Verifier`]: judges the token of a request. Read this to see the order of checks.
//! - [`ResourceName`], `description`: what the endpoint is called, and the document that says so.
//! - `token`, `claims`, `flaw`: what a token looks like and must say.
//! - `algorithm`, `key_set`: checking a signature.
//! - `schedule`, `source`, `keys`: when the keys of the issuer are fetched, where from, and by whom.
//! - `refusal`: the challenges.

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
