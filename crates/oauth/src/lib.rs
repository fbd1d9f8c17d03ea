//! Get, keep and refresh tokens for upstreams; verify tokens for our own endpoint.
//!
//! # Layout
//! - [`Secret`], [`Scopes`]: what tokens are made of and asked for.
//! - [`jwt`], [`dpop`]: keys, and what is signed with them.
//! - [`exchange`]: the requests that a login makes, as values.
//! - [`Challenge`]: what a server says when it wants a token.
//! - [`metadata`]: what servers say about themselves, and whether to believe it.
//! - [`registration`]: who we are to an authorization server.
//! - [`authorize`], [`callback`]: what a person is asked in a browser, and what comes back.
//! - [`device`], [`id_jag`]: what takes the place of the browser, where there is none.
//! - [`token`]: getting tokens from the token endpoint.
//! - [`step_up`]: more scopes for an operation that a token does not cover.
//! - [`flow`]: all of it, as a machine that says what to do next.
//! - [`guard`]: which addresses a URL that a server names may lead to.
//! - [`browser`], [`callback_listener`]: opening the authorization page, and where it leads back to.
//! - [`fetch`]: carrying out the requests of a login.
//! - [`consent`]: asking a person.
//! - [`store`]: the file that keeps logins.
//! - [`keeper`]: the tokens of one server, got once and kept.
//! - [`resource`]: our own endpoint, which others log in to.
//!
//! # Invariants
//! - Decisions about logins do no I/O and read no clock: they say what to fetch or to open next.
//! - No secret reaches `Debug`, `Display` or an error.

pub mod authorize;
pub mod browser;
pub mod callback;
pub mod callback_listener;
mod challenge;
pub mod consent;
pub mod device;
pub mod dpop;
mod endpoint;
pub mod exchange;
pub mod fetch;
pub mod flow;
pub mod guard;
pub mod id_jag;
pub mod jwt;
pub mod keeper;
pub mod metadata;
mod provider;
pub mod registration;
pub mod resource;
mod scope;
mod secret;
pub mod step_up;
pub mod store;
pub mod token;

pub use challenge::Challenge;
pub use endpoint::{EndpointError, is_loopback};
pub use provider::ProviderError;
pub use scope::Scopes;
pub use secret::Secret;
