use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use callgate_oauth::Secret;
use callgate_oauth::store::{Login, LoginStore, SecretPlace, StoreLimits, Tokens};
use tempfile::TempDir;

use crate::file_keychain::FileKeychain;

/// Directory of its own for a store.
pub(crate) struct Place(TempDir);

/// Limits that a busy machine keeps: a test waits for other processes, however slow they are.
pub(crate) fn patient() -> StoreLimits {
    limits(Duration::from_secs(600))
}

/// Store that waits for other processes, and has a keychain, which an unsealed file does not need.
pub(crate) fn store_at(path: impl Into<PathBuf>) -> LoginStore {
    let path = path.into();
    let keychain = Arc::new(FileKeychain::beside(&path));
    LoginStore::new(path, patient()).with_keychain(keychain)
}

fn limits(wait: Duration) -> StoreLimits {
    let mut limits = StoreLimits::default();
    limits.edit_wait = wait;
    limits.refresh_wait = wait;
    limits
}

impl Place {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().expect("a directory"))
    }

    /// A file in the directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.path("mcp-auth.json")
    }

    pub(crate) fn store(&self) -> LoginStore {
        store_at(self.file())
    }

    pub(crate) fn keychain(&self) -> FileKeychain {
        FileKeychain::beside(&self.file())
    }

    /// The same place, with all secrets sealed.
    pub(crate) fn sealed(self) -> Self {
        let moved = self.store().move_secrets(SecretPlace::Keychain);
        assert!(moved.expect("it seals"));
        self
    }

    /// Store that hardly waits for other processes.
    pub(crate) fn hasty_store(&self) -> LoginStore {
        LoginStore::new(self.file(), limits(Duration::from_millis(1)))
    }

    pub(crate) fn read(&self) -> String {
        fs::read_to_string(self.file()).expect("the file is there")
    }

    /// Writes the file from outside, for its owner alone.
    pub(crate) fn write(&self, text: &[u8]) {
        fs::write(self.file(), text).expect("the directory can be written");
        self.set_mode(0o600);
    }

    pub(crate) fn set_mode(&self, mode: u32) {
        fs::set_permissions(self.file(), fs::Permissions::from_mode(mode)).expect("it is ours");
    }

    /// The names and modes of all files in the directory, in order.
    pub(crate) fn files(&self) -> Vec<(String, u32)> {
        let entries = fs::read_dir(self.0.path()).expect("the directory can be read");
        let mut files: Vec<(String, u32)> = entries
            .map(|entry| {
                let entry = entry.expect("the directory can be read");
                let mode = entry.metadata().expect("it is there").permissions().mode();
                let name = entry.file_name().into_string().expect("a plain name");
                (name, mode & 0o7777)
            })
            .collect();
        files.sort();
        files
    }
}

/// A login with these tokens and nothing else.
pub(crate) fn login(access_token: &str, refresh_token: Option<&str>) -> Login {
    let mut login = Login::default();
    login.tokens = Some(tokens(access_token, refresh_token));
    login
}

pub(crate) fn tokens(access_token: &str, refresh_token: Option<&str>) -> Tokens {
    let mut tokens = Tokens::new(Secret::new(access_token));
    tokens.refresh_token = refresh_token.map(Secret::new);
    tokens
}
