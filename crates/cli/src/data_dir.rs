use std::env;
use std::fs::DirBuilder;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

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

    /// The path of a file in the directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Makes the directory, for the user alone, if it is not there.
    pub(crate) fn create(&self) -> Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .create(&self.0)
            .with_context(|| format!("cannot create {}", self.0.display()))
    }
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
