//! What a client carries from one round of a request to the next, and cannot read or change.
//!
//! # Layout
//! - [`Sealer`]: seals states with a [`StateKey`].
//! - `digest`: what makes two requests the same.

mod digest;
mod state;

pub(crate) use digest::request_digest;
pub(crate) use state::{RoundState, Sealer, random};

pub use state::StateKey;
