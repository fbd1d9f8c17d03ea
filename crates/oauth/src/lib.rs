//! Get, keep and refresh tokens for upstreams; verify tokens for our own endpoint.
//!
//! # Layout
//! - [`Secret`], [`Scopes`]: what tokens are made of and asked for.
//! - [`Challenge`]: what a server says when it wants a token.
//! - [`metadata`]: what servers say about themselves, and whether to believe it.
//!
//! # Invariants
//! - No secret reaches `Debug`, `Display` or an error.

mod challenge;
mod endpoint;
pub mod metadata;
mod scope;
mod secret;

pub use challenge::Challenge;
pub use endpoint::EndpointError;
pub use scope::Scopes;
pub use secret::Secret;
