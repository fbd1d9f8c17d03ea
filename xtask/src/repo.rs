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
    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        let mut command = Command::new(process::cargo());
        command.args(args).current_dir(&self.root);
        command
    }
}
