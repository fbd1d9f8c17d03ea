use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::process;
use crate::repo::Repo;
use crate::step::Outcome;

/// Checks the wire types against the schemas and examples of the specification in `dir`.
///
/// The repository does not carry those files.
/// Without `dir` they are looked for beside it, and where they are not at hand the check is skipped, saying so.
pub(crate) fn run(repo: &Repo, dir: Option<PathBuf>) -> Result<Outcome> {
    let beside = repo.root().join("../shared/spec");
    let Some(dir) = dir.or_else(|| beside.is_dir().then_some(beside)) else {
        let reason = "the schemas of the specification are not at hand; pass --spec DIR";
        return Ok(Outcome::Skipped(reason.to_owned()));
    };
    let dir = dir
        .canonicalize()
        .with_context(|| format!("cannot open {}", dir.display()))?;
    let mut test = repo.cargo(&[
        "test",
        "-p",
        "callgate-wire",
        "--test",
        "spec",
        "--",
        "--nocapture",
        "--include-ignored",
    ]);
    process::run(test.env("MCP_SPEC_DIR", dir))?;
    Ok(Outcome::Passed)
}
