//! Getting tokens for one server, keeping them and renewing them, so that one login is enough.
//!
//! - [`Keeper`]: gives every request its token; read it first.
//! - [`Config`]: for which server, and how tokens are got.
//! - [`KeeperError`]: why there is no token, and [`NeedsLogin`] when only a person can help.
//! - [`Status`]: what is known about a login.

mod config;
mod error;
mod status;
mod token_keeper;

pub use config::{Config, Grant};
pub use error::{KeeperError, NeedsLogin, Reason};
pub use status::{State, Status};
pub use token_keeper::{Keeper, LogIn, Revocation};
