//! Keychain of the system: keeps the key of a sealed login file.
//!
//! - [`Keychain`]: the operations that the store needs.
//! - [`SecretService`]: the keychain of Linux desktops, over D-Bus: `bus` connects, `message` is the wire format.
//! - `NativeKeychain`: the keychain of macOS and of Windows.

mod keychain_trait;
#[cfg(any(target_os = "macos", windows))]
mod native;

#[cfg(all(unix, not(target_os = "macos")))]
mod bus;
#[cfg(all(unix, not(target_os = "macos")))]
mod message;
#[cfg(all(unix, not(target_os = "macos")))]
mod secret_service;

pub use keychain_trait::{Keychain, KeychainError};
#[cfg(all(unix, not(target_os = "macos")))]
pub(super) use message::read_any;
#[cfg(any(target_os = "macos", windows))]
pub use native::NativeKeychain;
#[cfg(all(unix, not(target_os = "macos")))]
pub use secret_service::SecretService;
