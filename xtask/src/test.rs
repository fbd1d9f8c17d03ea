use anyhow::{Context, Result};

use crate::conformance::{self, Side};
use crate::process;
use crate::repo::Repo;
use crate::step::{Outcome, Step, run_all, run_each};
use crate::{examples, features, fuzz, interop, keychain, readme, shells, spec, tidy};

/// Runs the steps of continuous integration: all, or those with these `names`.
pub(crate) fn run(repo: &Repo, names: &[String]) -> Result<()> {
    require_tools().context("a tool that the tests need is missing")?;
    run_all(repo, STEPS, names)
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
        name: "tests",
        fix: "run one test with `cargo test -p <crate> <name>`",
        run: tests,
    },
    Step {
        name: "examples",
        fix: "an example printed something else than its test expects, see above",
        run: |repo| passed(examples::run(repo)),
    },
    Step {
        name: "spec",
        fix: "a wire type differs from the schemas, see above",
        run: |repo| spec::run(repo, None),
    },
    Step {
        name: "conformance-server",
        fix: "run one scenario with `cargo xtask conformance server --scenario NAME`",
        run: |repo| passed(conformance::run_all(repo, Side::Server)),
    },
    Step {
        name: "conformance-client",
        fix: "run one scenario with `cargo xtask conformance client --scenario NAME`",
        run: |repo| passed(conformance::run_all(repo, Side::Client)),
    },
    Step {
        name: "bridge",
        fix: "run one upstream with `cargo xtask bridge --upstream KIND`",
        run: |repo| passed(conformance::bridge::run(repo, true)),
    },
    Step {
        name: "interop",
        fix: "a peer behaved otherwise than its test expects, see above",
        run: |repo| passed(interop::run(repo)),
    },
    Step {
        name: "keychain",
        fix: "run one test with `cargo test -p callgate --test it keychain::NAME -- --include-ignored`",
        run: keychain::run,
    },
    Step {
        name: "shells",
        fix: "run one test with `cargo test -p callgate --test it shells::NAME -- --include-ignored`",
        run: shells::run,
    },
    Step {
        name: "readme",
        fix: "correct README.md or the program",
        run: |repo| passed(readme::run(repo)),
    },
];

/// Checks the tools that later steps need, so that a missing one does not fail minutes later.
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
    let check = |manifest: &str| {
        let fmt = ["fmt", "--all", "--manifest-path", manifest, "--check"];
        process::run(&mut repo.cargo(&fmt))
    };
    passed(run_each(
        ["Cargo.toml", examples::MANIFEST, fuzz::MANIFEST],
        check,
    ))
}

fn clippy(repo: &Repo) -> Result<Outcome> {
    let commands = [
        repo.cargo(&["clippy", "--workspace"]),
        examples::clippy(repo),
        fuzz::clippy(repo),
    ];
    let deny = ["--all-targets", "--", "-D", "warnings"];
    passed(run_each(commands, |mut command| {
        process::run(command.args(deny))
    }))
}

fn tests(repo: &Repo) -> Result<Outcome> {
    // All failures of all crates, not those of the first one that has any.
    let all = repo.cargo(&["test", "--workspace", "--no-fail-fast"]);
    let mut without_legacy = repo.cargo(&["test", "-p", "callgate-mcp", "--no-fail-fast"]);
    without_legacy.args([
        "--no-default-features",
        "--features",
        "http-client,http-server",
    ]);
    without_legacy.args(["--lib", "--test", "it"]);
    passed(run_each([all, without_legacy], |mut command| {
        process::run(&mut command)
    }))
}

fn doc(repo: &Repo) -> Result<Outcome> {
    let mut doc = repo.cargo(&["doc", "--workspace", "--no-deps"]);
    passed(process::run(doc.env("RUSTDOCFLAGS", "-D warnings")))
}

fn passed(result: Result<()>) -> Result<Outcome> {
    result.map(|()| Outcome::Passed)
}
