use std::sync::Arc;

use callgate_oauth::store::keychain::Keychain;

/// The keychain of this system, if it has one that is known. It is not connected to yet.
pub(crate) fn of_system() -> Option<Arc<dyn Keychain>> {
    platform::keychain()
}

#[cfg(all(unix, not(target_os = "macos")))]
mod platform {
    use std::env;
    use std::sync::Arc;

    use callgate_oauth::store::keychain::{Keychain, SecretService};

    pub(super) fn keychain() -> Option<Arc<dyn Keychain>> {
        let keychain: Arc<dyn Keychain> = Arc::new(SecretService::new(session_bus()));
        Some(keychain)
    }

    /// Address of the session bus, as other programs find it.
    fn session_bus() -> Option<String> {
        let text = |name| env::var(name).ok().filter(|text| !text.is_empty());
        let beside = || Some(format!("unix:path={}/bus", text("XDG_RUNTIME_DIR")?));
        text("DBUS_SESSION_BUS_ADDRESS").or_else(beside)
    }
}

#[cfg(any(target_os = "macos", windows))]
mod platform {
    use std::sync::Arc;

    use callgate_oauth::store::keychain::{Keychain, NativeKeychain};

    pub(super) fn keychain() -> Option<Arc<dyn Keychain>> {
        let keychain: Arc<dyn Keychain> = Arc::new(NativeKeychain::new().ok()?);
        Some(keychain)
    }
}

#[cfg(not(any(unix, windows)))]
mod platform {
    use std::sync::Arc;

    use callgate_oauth::store::keychain::Keychain;

    pub(super) fn keychain() -> Option<Arc<dyn Keychain>> {
        None
    }
}
