//! Store of logins: the file `mcp-auth.json`, in OpenCode's layout.
//!
//! - [`LoginStore`]: reads and edits the file, safely against crashes and other processes.
//! - [`Login`], [`Tokens`]: content of one entry.
//! - [`RefreshPermit`]: lets one process at a time refresh the tokens of a login; [`FailedRefresh`]: its last failure.
//! - [`read_secret_file`]: another file with a secret, under the same rules.
//! - [`import`]: imports the logins of OpenCode.
//! - [`keychain`]: keychain of the system, with the key of a file whose secrets are sealed (`seal`, `key_cache`);
//!   [`SecretPlace`]: the choice, and `migration` between the two.
//!
//! All functions block on the file system: call them from a blocking thread.

mod access;
mod disk;
mod document;
mod entry;
mod error;
mod failure;
#[doc(hidden)]
pub mod fuzzing;
pub mod import;
mod key_cache;
pub mod keychain;
mod lock;
mod login;
mod login_store;
mod migration;
mod refresh;
mod seal;

pub use disk::read_secret_file;
pub use error::StoreError;
pub use failure::FailedRefresh;
pub use login::{
    ChosenClient, ChosenIdentity, ChosenKind, ChosenProvider, Login, LoginBinding, TokenEndpoint,
    Tokens,
};
pub use login_store::{LoginStore, StoreLimits};
pub use migration::SecretPlace;
pub use refresh::{RefreshDecision, RefreshPermit};
