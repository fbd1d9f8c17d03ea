use anyhow::{Context, Result};

use crate::conformance::{self, Side};
use crate::process;
use crate::repo::Repo;
use crate::step::{Outcome, Step, run_all};
use crate::{examples, features, fuzz, interop, readme, spec, tidy};

/// Runs everything that continuous integration runs.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    require_tools().context("a tool that the tests need is missing")?;
    run_all(repo, STEPS)
}

const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        fix: "run `cargo fmt` (and again in examples/ and fuzz/)",
        run: fmt,
    },
    Step {
        name: "clippy",
        fix: "fix the lints above",
        run: clippy,
    },
    Step {
        name: "features",
        fix: "each library must build without warnings with any of its features",
        run: |repo| passed(features::run(repo)),
    },
    Step {
        name: "doc",
        fix: "fix the links above",
        run: doc,
    },
    Step {
        name: "tidy",
        fix: "see docs/architecture.md for the invariants",
        run: |repo| passed(tidy::run(repo)),
    },
    Step {
        name: "cargo test",
        fix: "repeat one test with `cargo test -p <crate> <name>`",
        run: |repo| passed(process::run(&mut repo.cargo(&["test", "--workspace"]))),
    },
    Step {
        name: "examples",
        fix: "repeat with `cargo xtask examples`",
        run: |repo| passed(examples::run(repo)),
    },
    Step {
        name: "spec",
        fix: "repeat with `cargo xtask spec`",
        run: |repo| spec::run(repo, None),
    },
    Step {
        name: "conformance server",
        fix: "repeat with `cargo xtask conformance server [--scenario NAME]`",
        run: |repo| passed(conformance::run_all(repo, Side::Server)),
    },
    Step {
        name: "conformance client",
        fix: "repeat with `cargo xtask conformance client [--scenario NAME]`",
        run: |repo| passed(conformance::run_all(repo, Side::Client)),
    },
    Step {
        name: "bridge",
        fix: "repeat with `cargo xtask bridge [--upstream KIND]`",
        run: |repo| passed(conformance::bridge::run(repo, true)),
    },
    Step {
        name: "interop",
        fix: "repeat with `cargo xtask interop`",
        run: |repo| passed(interop::run(repo)),
    },
    Step {
        name: "readme",
        fix: "correct README.md or the program; repeat with `cargo xtask readme`",
        run: |repo| passed(readme::run(repo)),
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
    )?;
    process::require(
        "curl",
        &["--version"],
        "install curl, which the README uses",
    )?;
    process::require("npm", &["--version"], "install Node.js with npm")?;
    let install = "install Python 3.10 or newer with its venv module";
    process::require("python3", &["-c", "import ensurepip, venv"], install)
}

fn fmt(repo: &Repo) -> Result<Outcome> {
    process::run(&mut repo.cargo(&["fmt", "--all", "--check"]))?;
    for manifest in [examples::MANIFEST, fuzz::MANIFEST] {
        let fmt = ["fmt", "--manifest-path", manifest, "--check"];
        process::run(&mut repo.cargo(&fmt))?;
    }
    Ok(Outcome::Passed)
}

fn clippy(repo: &Repo) -> Result<Outcome> {
    let deny = ["--all-targets", "--", "-D", "warnings"];
    process::run(repo.cargo(&["clippy", "--workspace"]).args(deny))?;
    process::run(examples::clippy(repo).args(deny))?;
    passed(process::run(fuzz::clippy(repo).args(deny)))
}

fn doc(repo: &Repo) -> Result<Outcome> {
    let mut doc = repo.cargo(&["doc", "--workspace", "--no-deps"]);
    passed(process::run(doc.env("RUSTDOCFLAGS", "-D warnings")))
}

fn passed(result: Result<()>) -> Result<Outcome> {
    result.map(|()| Outcome::Passed)
}
