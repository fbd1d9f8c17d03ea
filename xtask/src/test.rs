use anyhow::{Context, Result};

use crate::process;
use crate::repo::Repo;
use crate::step::{Outcome, Step, run_all};
use crate::tidy;

/// Runs everything that continuous integration runs.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    require_tools().context("a tool that the tests need is missing")?;
    run_all(repo, STEPS)
}

const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        fix: "run `cargo fmt`",
        run: |repo| cargo(repo, &["fmt", "--all", "--check"]),
    },
    Step {
        name: "clippy",
        fix: "fix the lints above",
        run: |repo| {
            cargo(
                repo,
                &[
                    "clippy",
                    "--workspace",
                    "--all-targets",
                    "--",
                    "-D",
                    "warnings",
                ],
            )
        },
    },
    Step {
        name: "tidy",
        fix: "see docs/architecture.md for the invariants",
        run: |repo| tidy::run(repo).map(|()| Outcome::Passed),
    },
    Step {
        name: "cargo test",
        fix: "repeat one test with `cargo test -p <crate> <name>`",
        run: |repo| cargo(repo, &["test", "--workspace"]),
    },
];

/// Finds out in the first second what would otherwise fail minutes later.
fn require_tools() -> Result<()> {
    process::require("git", &["--version"], "install git")?;
    process::require(
        "cargo",
        &["fmt", "--version"],
        "run `rustup component add rustfmt`",
    )?;
    process::require(
        "cargo",
        &["clippy", "--version"],
        "run `rustup component add clippy`",
    )
}

fn cargo(repo: &Repo, args: &[&str]) -> Result<Outcome> {
    process::run(&mut repo.cargo(args))?;
    Ok(Outcome::Passed)
}
