use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

/// Location of this workspace and its build products.
pub(crate) struct Repo {
    root: PathBuf,
    target: PathBuf,
}

impl Repo {
    /// Asks cargo, so that `CARGO_TARGET_DIR` and `build.target-dir` are honored.
    pub(crate) fn find() -> Result<Self> {
        let mut metadata = Command::new(process::cargo());
        metadata.args(["metadata", "--no-deps", "--format-version", "1"]);
        let metadata: serde_json::Value = serde_json::from_str(&process::capture(&mut metadata)?)?;
        let path = |key: &str| -> Result<PathBuf> {
            let path = metadata.get(key).and_then(|value| value.as_str());
            Ok(path
                .with_context(|| format!("cargo metadata has no {key}"))?
                .into())
        };
        Ok(Self {
            root: path("workspace_root")?,
            target: path("target_directory")?,
        })
    }

    /// The directory of the workspace manifest.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A path under the build directory, which is never tracked.
    pub(crate) fn target(&self, path: impl AsRef<Path>) -> PathBuf {
        self.target.join(path)
    }

    /// A cargo command in the workspace root.
    ///
    /// It does not get the variables that cargo has set for this program. The build script of `ring` depends on
    /// them, so that with them all crates that use it would be compiled again after each change between
    /// `cargo xtask` and plain cargo.
    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        let mut command = Command::new(process::cargo());
        command.args(args).current_dir(&self.root);
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_package(name)) {
            command.env_remove(name);
        }
        command
    }
}

/// True for a variable in which cargo describes the package that it runs.
fn is_of_package(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}
