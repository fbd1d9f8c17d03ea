//! Get, keep and refresh tokens for upstreams; verify tokens for our own endpoint.
//!
//! # Layout
//! - [`Secret`], [`Scopes`]: what tokens are made of and asked for.
//! - [`exchange`]: the requests that a login makes, as values.
//! - [`Challenge`]: what a server says when it wants a token.
//! - [`metadata`]: what servers say about themselves, and whether to believe it.
//! - [`registration`]: who we are to an authorization server.
//! - [`authorize`], [`callback`]: what a person is asked in a browser, and what comes back.
//! - [`token`]: getting tokens from the token endpoint.
//! - [`step_up`]: more scopes for an operation that a token does not cover.
//! - [`flow`]: all of it, as a machine that says what to do next.
//!
//! # Invariants
//! - Decisions about logins do no I/O and read no clock: they say what to fetch or to open next.
//! - No secret reaches `Debug`, `Display` or an error.

pub mod authorize;
pub mod callback;
mod challenge;
mod endpoint;
pub mod exchange;
pub mod flow;
pub mod metadata;
mod provider;
pub mod registration;
mod scope;
mod secret;
pub mod step_up;
pub mod token;

pub use challenge::Challenge;
pub use endpoint::EndpointError;
pub use provider::ProviderError;
pub use scope::Scopes;
pub use secret::Secret;
