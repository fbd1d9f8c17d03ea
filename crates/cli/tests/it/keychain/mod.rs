//! Logins whose secrets are sealed with a key in the keychain.
//!
//! - `keyring`: GNOME Keyring on a bus of its own. `sealed`: the whole story with it. `connections`: many at once.
//! - `unused`: users who keep the file.

mod connections;
mod keyring;
mod sealed;
mod unused;
