use std::process::Command;

use anyhow::Result;

use crate::process;
use crate::repo::Repo;

/// The manifest of the examples, which are a workspace of their own.
pub(crate) const MANIFEST: &str = "examples/Cargo.toml";

/// Builds and runs the examples and compares their output.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    process::run(cargo(repo, "test").args(["--test", "run"]))
}

/// A clippy command for the examples.
pub(crate) fn clippy(repo: &Repo) -> Command {
    cargo(repo, "clippy")
}

/// A cargo command for the examples that shares the build products of the main workspace.
fn cargo(repo: &Repo, command: &str) -> Command {
    let mut cargo = repo.cargo(&[command, "--manifest-path", MANIFEST]);
    cargo.arg("--target-dir").arg(repo.target(""));
    cargo
}
