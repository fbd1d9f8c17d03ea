//! Proofs that a token is ours, so that whoever steals it cannot use it (RFC 9449).
//!
//! - [`Key`]: what tokens are bound to; it is kept with the login.
//! - [`Prover`]: makes the proof for each request to the server that the token is for.

mod key;
mod proof;
mod prover;

pub use key::Key;
pub use proof::Proof;
pub use prover::Prover;
pub(crate) use prover::is_nonce;

/// The error by which a server asks for the same request with its nonce in the proof.
pub(crate) const USE_DPOP_NONCE: &str = "use_dpop_nonce";
