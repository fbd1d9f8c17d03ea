//! Logins whose secrets are sealed with a key in the keychain.
//!
//! - `keyring`: GNOME Keyring on a bus of its own. `sealed`: the whole story with it.
//! - `unused`: users who keep the file.

mod keyring;
mod sealed;
mod unused;
