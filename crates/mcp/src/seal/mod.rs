//! Sealed state: data that a client carries from one round of a request to the next, and can
//! neither read nor change.
//!
//! # Layout
//! - [`StateSealer`]: seals and opens states with a [`StateKey`].
//! - [`RequestDigest`]: binds a state to one request of one caller.

mod digest;
mod state;

pub(crate) use state::{RoundState, random};

pub use digest::RequestDigest;
pub use state::{StateKey, StateSealer};
