//! Get, keep and refresh tokens for upstreams; verify tokens for our own endpoint.
//!
//! # Layout
//!
//! - [`Secret`]: a token, a client secret, a code verifier.
//!
//! # Invariants
//!
//! - No secret reaches `Debug`, `Display` or an error.

mod secret;

pub use secret::Secret;
