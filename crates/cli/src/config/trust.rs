//! Project files that the user has trusted, by path and content.
//!
//! A file is trusted as it was shown: another content, or the same content in another place, where relative paths
//! lead elsewhere, is asked about again. Programs and files that it names may change without that.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use callgate_oauth::store::read_secret_file;

use super::digest::ContentHash;
use super::file_write::edit_file;
use crate::data_dir::DataDir;
use crate::error::CommandError;
use crate::file_replace::FileMode;

pub(crate) const FILE: &str = "trusted-configs.json";

/// Maximum number of files that are remembered.
const MAX_FILES: usize = 1000;

/// Trusted files of a data directory.
#[derive(Debug)]
pub(crate) struct TrustStore {
    hashes: BTreeMap<String, String>,
    problem: Option<String>,
}

impl TrustStore {
    /// Reads the trusted files. A store that cannot be read trusts nothing.
    pub(crate) fn open(data_dir: Option<&Path>) -> Self {
        let (hashes, problem) = match read(data_dir) {
            Ok(hashes) => (hashes, None),
            Err(error) => (
                BTreeMap::new(),
                Some(error.with_hints().replace('\n', "; ")),
            ),
        };
        Self { hashes, problem }
    }

    /// True if this content of the file was trusted.
    pub(crate) fn contains(&self, path: &Path, hash: &ContentHash) -> bool {
        let known = key(path).and_then(|key| self.hashes.get(&key));
        known.is_some_and(|known| known == hash.as_str())
    }

    /// Reason why the store cannot be used.
    pub(super) fn notice(&self) -> Option<String> {
        let problem = self.problem.as_ref()?;
        Some(format!("no project file is trusted: {problem}"))
    }
}

/// Remembers that the user trusts this content of the file.
pub(crate) fn add(
    data_dir: Option<&Path>,
    path: &Path,
    hash: &ContentHash,
) -> Result<(), CommandError> {
    let key = key(path).with_context(|| format!("cannot find {}", path.display()))?;
    change(data_dir, |hashes| {
        hashes.insert(key, hash.as_str().to_owned());
    })
}

/// Forgets that the file was trusted; false if it was not.
pub(crate) fn remove(data_dir: Option<&Path>, path: &Path) -> Result<bool, CommandError> {
    let Some(key) = key(path) else {
        return Ok(false);
    };
    let mut removed = false;
    change(data_dir, |hashes| removed = hashes.remove(&key).is_some())?;
    Ok(removed)
}

fn change(
    data_dir: Option<&Path>,
    change: impl FnOnce(&mut BTreeMap<String, String>),
) -> Result<(), CommandError> {
    let directory = DataDir::locate(data_dir)?;
    directory.create()?;
    edit_file(&directory.file(FILE), FileMode::Private, |_| {
        let mut hashes = read(data_dir)?;
        change(&mut hashes);
        // Files that are gone leave room for others.
        if hashes.len() > MAX_FILES {
            hashes.retain(|path, _| Path::new(path).exists());
        }
        if hashes.len() > MAX_FILES {
            let message = format!("more than {MAX_FILES} project files are trusted");
            let path = directory.file(FILE);
            return Err(CommandError::usage(message)
                .hint(format!("remove {} to trust no file", path.display())));
        }
        let json = serde_json::to_string_pretty(&hashes).map_err(|error| anyhow!(error))?;
        Ok(Some(json + "\n"))
    })
}

fn read(data_dir: Option<&Path>) -> Result<BTreeMap<String, String>, CommandError> {
    let path = DataDir::locate(data_dir)?.file(FILE);
    // Another user who could write the file could trust anything.
    let Some(bytes) = read_secret_file(&path)? else {
        return Ok(BTreeMap::new());
    };
    serde_json::from_slice(&bytes).map_err(|error| {
        let error = anyhow!(error).context(format!("{} is damaged", path.display()));
        CommandError::from(error).hint("remove it and trust the files again")
    })
}

/// The path of a file without links.
fn key(path: &Path) -> Option<String> {
    let path: PathBuf = path.canonicalize().ok()?;
    path.into_os_string().into_string().ok()
}
