//! OAuth for MCP: gets, stores and refreshes access tokens for servers, and verifies the tokens of
//! our own clients.
//!
//! A connection to a server that wants a login gets a [`TokenSource`](token_source::TokenSource). It
//! adds the token to every request, refreshes it before it expires, and gets another one if the
//! server refuses it; an error says when only the user can help.
//!
//! ```no_run
//! use callgate_mcp::{HttpConfig, Remote};
//! use callgate_oauth::fetch::{self, Fetcher};
//! use callgate_oauth::store::{LoginStore, StoreLimits};
//! use callgate_oauth::token_source::{Config, TokenSource};
//!
//! let url = "https://mcp.example.com/mcp";
//! let mut login = Config::new("example", url.parse()?, Fetcher::new(fetch::Config::default())?);
//! login.store = Some(LoginStore::new("mcp-auth.json", StoreLimits::default()));
//! let mut http = HttpConfig::new("example");
//! http.authorizer = Some(TokenSource::new(login));
//! let server = Remote::new(url, http)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A server of our own checks the tokens of its clients with a [`Verifier`](resource::Verifier).
//!
//! # Layout
//! - [`token_source`]: gets and refreshes the tokens of one server; begin here.
//! - [`store`]: file with all logins.
//! - [`flow`]: state machine of a login, from the challenge to the token.
//! - [`consent`], [`browser`], [`callback_listener`]: the user's consent, and the redirect after it.
//! - [`fetch`], [`guard`]: HTTP client of a login, and the addresses that it may reach.
//! - [`http_message`], [`Challenge`], [`metadata`], [`registration`]: messages of a login, and the OAuth client.
//! - [`options`], [`quirks`]: options for providers that do not follow the specification, and those of known providers.
//! - `authorize`, `callback`, `token_endpoint`, [`device`], [`id_jag`]: requests of each grant.
//! - `step_up`: more scopes for a request that was refused.
//! - [`jwt`], `dpop`: signing keys, client assertions and proofs of possession.
//! - [`resource`]: verification of the tokens that our own endpoint accepts.
//! - [`Secret`], [`Scopes`]: small types that all of them use.
//!
//! # Invariants
//! - Decisions about logins do no I/O and read no clock: they name the next request or page.
//! - No secret reaches `Debug`, `Display` or an error.

mod authorize;
pub mod browser;
mod callback;
pub mod callback_listener;
mod challenge;
pub mod consent;
pub mod device;
mod dpop;
mod endpoint;
pub mod fetch;
pub mod flow;
pub mod guard;
pub mod http_message;
pub mod id_jag;
pub mod jwt;
pub mod metadata;
pub mod options;
mod provider;
pub mod quirks;
pub mod registration;
pub mod resource;
mod scope;
mod secret;
mod step_up;
pub mod store;
mod token_endpoint;
pub mod token_source;
mod unix_seconds;

pub use challenge::Challenge;
pub use endpoint::{EndpointError, is_loopback};
pub use provider::ProviderError;
pub use scope::Scopes;
pub use secret::Secret;
