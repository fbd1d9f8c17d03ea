//! Import of the logins of OpenCode.

use std::path::Path;

use callgate_wire::{RawJson, Splice};

use super::disk;
use super::document::Document;
use super::entry;
use super::error::StoreError;
use super::login_store::LoginStore;

/// Result of an import, by the names of the servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// Logins that were added to the store.
    pub added: Vec<String>,
    /// Logins that were not imported, because the store has an entry of that name.
    pub kept: Vec<String>,
    /// Logins that were not imported, because they name no server or hold nothing usable.
    pub skipped: Vec<String>,
}

/// Adds the logins of OpenCode's file `mcp-auth.json` at `path`, which is not changed.
///
/// Both programs have the same refresh token then. Where the authorization server rotates it, the
/// program that refreshes second has to log in again: import when OpenCode is no longer used for
/// these servers.
///
/// # Errors
/// The file is missing or malformed, or the store cannot be written.
pub fn from_opencode(store: &LoginStore, path: &Path) -> Result<Imported, StoreError> {
    let malformed = || StoreError::Malformed {
        path: path.to_owned(),
    };
    let missing = || StoreError::Missing {
        path: path.to_owned(),
    };
    let bytes = disk::read_any(path, store.limits.bytes)?.ok_or_else(missing)?;
    let source = Document::read(bytes).ok_or_else(malformed)?;
    if source.seal().is_some() {
        let path = path.to_owned();
        return Err(StoreError::SealedSource { path });
    }
    store.edit(|document| {
        let mut imported = Imported::default();
        let mut merged = document.clone();
        for (name, found) in source.entries() {
            if merged.has(&name) {
                imported.kept.push(name);
            } else if let Some(entry) = usable(&found) {
                merged = merged.with_entry(&name, &entry);
                imported.added.push(name);
            } else {
                imported.skipped.push(name);
            }
        }
        ((!imported.added.is_empty()).then_some(merged), imported)
    })
}

/// Entry without the unfinished login of OpenCode.
fn usable(found: &RawJson) -> Option<RawJson> {
    let login = entry::decode(found);
    login.server_url?;
    if login.tokens.is_none() && login.client.is_none() {
        return None;
    }
    Splice::new(found)
        .remove(&["codeVerifier"])
        .remove(&["oauthState"])
        .finish()
        .ok()
}
