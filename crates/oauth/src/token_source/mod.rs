//! Token source: gets the access tokens for one server, stores them and refreshes them.
//!
//! - [`TokenSource`]: adds a token to every request; read it first.
//! - [`Config`]: server, client, grant and store.
//! - [`TokenError`], [`NeedsLogin`]: errors, and the one that only the user can repair.
//! - [`LoginStatus`]: state of the stored login. [`LoginCheck`]: answer of the server to its token.
//! - `cache`: token cache of the process, and reactions to refused requests; `freshness`: time of the next refresh.
//! - `single_flight`: one task that gets a token for all waiting requests; `shared`: state of that task.
//! - `backoff`: failures of the authorization server, also those that other processes met.
//! - `refresh`, `login`: work of the task; `flow_run`: one run of a flow against the authorization server.
//! - `storage`, `stored_tokens`: login in the store or in memory; `probe`: request that begins a login; `revocation`: logout.

mod assertion;
mod backoff;
mod cache;
mod clock;
mod config;
mod credentials;
mod error;
mod flow_run;
mod freshness;
mod login;
mod login_check;
mod probe;
mod refresh;
mod revocation;
mod shared;
mod single_flight;
mod source;
mod status;
mod storage;
mod stored_tokens;

pub use config::{Assertion, Config, Grant, ShowCode};
pub use error::{LoginReason, NeedsLogin, TokenError};
pub use login_check::{LoginCheck, LoginRefusal};
pub use revocation::Revocation;
pub use source::{LoginMode, TokenSource};
pub use status::{LoginState, LoginStatus};
