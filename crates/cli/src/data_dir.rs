use std::env;
use std::fs::DirBuilder;
use std::path::{self, Path, PathBuf};

use anyhow::{Context, Result};

use crate::error::CommandError;

/// The directory that holds our state.
#[derive(Debug, Clone)]
pub(crate) struct DataDir(PathBuf);

impl DataDir {
    /// The directory given on the command line, else `$XDG_DATA_HOME/callgate`.
    pub(crate) fn locate(flag: Option<&Path>) -> Result<Self> {
        if let Some(path) = flag {
            return Ok(Self(path.to_owned()));
        }
        let base = base().context("cannot find a directory for state; pass --data-dir DIR")?;
        Ok(Self(base.join("callgate")))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The directory without links, even if it is yet to be made.
    pub(crate) fn resolved(&self) -> PathBuf {
        resolved(&self.0)
    }

    /// The path of a file in the directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Makes the directory, for the user alone, if it is not there.
    pub(crate) fn create(&self) -> Result<(), CommandError> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .create(&self.0)
            .with_context(|| format!("cannot create {}", self.0.display()))
            .map_err(|error| {
                CommandError::from(error)
                    .hint("name a directory that you can write to with --data-dir DIR")
            })
    }
}

/// The path without links, as far as it exists.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let path = path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for existing in path.ancestors() {
        if let Ok(found) = existing.canonicalize() {
            let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
            return found.join(rest);
        }
    }
    path
}

/// The directory in which every program keeps the state of this user.
pub(crate) fn base() -> Result<PathBuf> {
    let absolute = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    absolute("XDG_DATA_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
        .context("neither XDG_DATA_HOME nor HOME is an absolute path")
}
