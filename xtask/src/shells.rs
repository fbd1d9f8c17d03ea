use anyhow::Result;

use crate::debian::Programs;
use crate::process;
use crate::repo::Repo;
use crate::step::Outcome;

const SHELLS: Programs = Programs {
    programs: &["bash", "zsh", "fish"],
    packages: &["bash", "zsh", "fish"],
};

/// Tests the completions in the shells that they are for. Without the shells the tests are skipped.
pub(crate) fn run(repo: &Repo) -> Result<Outcome> {
    if let Some(reason) = SHELLS.provide() {
        return Ok(Outcome::Skipped(reason));
    }
    let mut test = repo.cargo(&["test", "-p", "callgate", "--test", "it", "shells::"]);
    process::run(test.args(["--", "--include-ignored"]))?;
    Ok(Outcome::Passed)
}
