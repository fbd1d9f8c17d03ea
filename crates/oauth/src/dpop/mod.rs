//! DPoP: proofs of possession, so that a stolen token is useless (RFC 9449).
//!
//! - [`Key`]: key that tokens are bound to; it is stored with the login.
//! - [`Prover`]: makes the proof for each request to the server.

mod key;
mod proof;
mod prover;

pub(crate) use key::Key;
pub(crate) use proof::Proof;
pub(crate) use prover::Prover;
pub(crate) use prover::{USE_DPOP_NONCE, is_nonce};
