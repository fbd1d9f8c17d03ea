//! The file that keeps logins: `mcp-auth.json`, in OpenCode's layout.
//!
//! - [`Store`]: reads and edits the file, safely against crashes and other processes.
//! - [`Login`]: what is known about one server.
//! - [`Refresh`]: one refresh at a time, however many processes want it.
//! - [`import`]: takes over what OpenCode keeps.
//!
//! All of it blocks on the file system: call it from a thread that may wait.

mod access;
mod checksum;
mod disk;
mod document;
mod entry;
mod error;
#[doc(hidden)]
pub mod fuzzing;
pub mod import;
mod lock;
mod login;
mod login_store;
mod refresh;

pub use error::StoreError;
pub use login::{
    ChosenClient, ChosenIdentity, ChosenKind, ChosenProvider, ClientInfo, Login, Standing, Tokens,
};
pub use login_store::{Limits, Store};
pub use refresh::{Refresh, Ticket};
