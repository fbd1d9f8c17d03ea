use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use callgate_oauth::Secret;
use callgate_oauth::store::keychain::{Keychain, KeychainError};

/// Keychain for tests: a directory with one file for each secret, which all processes share.
///
/// It is locked while there is a file `locked` in it, and counts the requests in the file `loads`.
#[derive(Debug, Clone)]
pub(crate) struct FileKeychain(PathBuf);

impl FileKeychain {
    /// Keychain of the store at `path`.
    pub(crate) fn beside(path: &Path) -> Self {
        Self(path.with_extension("json.keys"))
    }

    pub(crate) fn lock(&self) {
        fs::write(self.0.join("locked"), "").expect("the directory is there");
    }

    /// Names of all secrets.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("the directory is there");
        let names = entries.map(|entry| entry.expect("it is there").file_name());
        let names = names.map(|name| name.into_string().expect("a plain name"));
        names
            .filter(|name| !["locked", "loads"].contains(&name.as_str()))
            .collect()
    }

    /// Number of secrets that were asked for.
    pub(crate) fn loads(&self) -> usize {
        let loads = fs::read(self.0.join("loads"));
        loads.map_or(0, |loads| loads.len())
    }

    fn check(&self) -> Result<(), KeychainError> {
        match self.0.join("locked").exists() {
            true => Err(KeychainError::Locked),
            false => Ok(()),
        }
    }
}

impl Keychain for FileKeychain {
    fn load(&self, name: &str) -> Result<Option<Secret>, KeychainError> {
        fs::create_dir_all(&self.0).expect("it can be created");
        let mut options = fs::OpenOptions::new();
        let log = options.create(true).append(true).open(self.0.join("loads"));
        log.expect("it opens").write_all(b".").expect("it writes");
        self.check()?;
        match fs::read_to_string(self.0.join(name)) {
            Ok(text) => Ok(Some(Secret::new(text))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => panic!("{error}"),
        }
    }

    fn save(&self, name: &str, label: &str, secret: &Secret) -> Result<(), KeychainError> {
        self.check()?;
        assert!(label.contains("mcp-auth.json"), "{label}");
        fs::create_dir_all(&self.0).expect("it can be created");
        fs::write(self.0.join(name), secret.expose()).expect("it writes");
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<(), KeychainError> {
        self.check()?;
        fs::remove_file(self.0.join(name)).expect("it is there");
        Ok(())
    }

    fn unlock(&self) -> Result<(), KeychainError> {
        fs::remove_file(self.0.join("locked")).expect("it was locked");
        Ok(())
    }
}
