//! Taking over the logins that OpenCode keeps.

use std::path::Path;

use callgate_wire::{RawJson, Splice};

use super::checksum;
use super::disk;
use super::document::Document;
use super::entry;
use super::error::StoreError;
use super::login_store::Store;

/// What became of the logins in a file of OpenCode, by the names of their servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// They are in the store now.
    pub added: Vec<String>,
    /// The store had something under these names and has kept it.
    pub kept: Vec<String>,
    /// They are not bound to a server or hold nothing that could be used.
    pub skipped: Vec<String>,
}

/// Adds the logins of the file `mcp-auth.json` of OpenCode at `path`, which stays as it is.
///
/// From then on two programs have the same refresh token. Where the authorization server replaces
/// it with each use, the one that comes second has to log in again: import when OpenCode is no
/// longer used for these servers.
///
/// # Errors
/// The file is missing or does not hold logins, or the store cannot be written.
pub fn from_opencode(store: &Store, path: &Path) -> Result<Imported, StoreError> {
    let malformed = || StoreError::Malformed {
        path: path.to_owned(),
    };
    let missing = || StoreError::Missing {
        path: path.to_owned(),
    };
    let bytes = disk::read_any(path, store.limits.bytes)?.ok_or_else(missing)?;
    let source = Document::read(bytes);
    if source.damage.is_some() {
        return Err(malformed());
    }
    store.edit(|document| {
        let mut imported = Imported::default();
        let mut merged = document.clone();
        for (name, found) in source.document.entries() {
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

/// The entry without the login that OpenCode has under way, sealed.
fn usable(found: &RawJson) -> Option<RawJson> {
    let login = entry::decode(found);
    login.server_url?;
    if login.tokens.is_none() && login.client.is_none() {
        return None;
    }
    let rest = Splice::new(found)
        .remove(&["codeVerifier"])
        .remove(&["oauthState"])
        .finish()
        .ok()?;
    Some(checksum::seal(&rest))
}
