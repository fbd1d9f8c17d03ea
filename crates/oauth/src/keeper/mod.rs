//! Getting tokens for one server, keeping them and renewing them, so that one login is enough.
//!
//! - [`Keeper`]: gives every request its token; read it first.
//! - [`Config`]: for which server, and how tokens are got.
//! - [`KeeperError`]: why there is no token, and [`NeedsLogin`] when only a person can help.
//! - [`Status`]: what is known about a login.
//! - `held`: what is known in this process, and what to do about a refusal; `freshness`: when to renew.
//! - `flight`: one task that gets a token, which everybody waits for; `shared` is what it works on.
//! - `renewal`, `login`: what such a task does; `errand`: one way to the authorization server and back.
//! - `vault`, `kept`: where the login is kept, and what of it; `probe`, `revocation`: asking the server what it wants, logging out.

mod assertion;
mod clock;
mod config;
mod credentials;
mod errand;
mod error;
mod flight;
mod freshness;
mod held;
mod kept;
mod login;
mod probe;
mod renewal;
mod revocation;
mod shared;
mod status;
mod token_keeper;
mod vault;

pub use config::{Assertion, Config, Grant, ShowCode};
pub use error::{KeeperError, NeedsLogin, Reason};
pub use revocation::Revocation;
pub use status::{State, Status};
pub use token_keeper::{Keeper, LogIn};
