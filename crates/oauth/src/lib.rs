//! Get, keep and refresh tokens for upstreams; verify tokens for our own endpoint.
//!
//! # Layout
//!
//! - [`Secret`]: a token, a client secret, a code verifier.
//! - [`browser`]: opens the authorization page.
//! - [`callback_listener`]: where the browser is sent back to.
//! - [`guard`]: which addresses a URL that a server names may lead to.
//! - [`store`]: the file that keeps logins.
//!
//! # Invariants
//!
//! - No secret reaches `Debug`, `Display` or an error.

pub mod browser;
pub mod callback_listener;
pub mod guard;
mod secret;
pub mod store;

pub use secret::Secret;
