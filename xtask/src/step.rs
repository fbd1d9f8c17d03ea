use std::time::Instant;

use anyhow::{Context, Result};

use crate::repo::Repo;

/// One part of `cargo xtask test`.
pub(crate) struct Step {
    /// What the heading says.
    pub(crate) name: &'static str,
    /// What to do when it fails.
    pub(crate) fix: &'static str,
    /// Does the work.
    pub(crate) run: fn(&Repo) -> Result<Outcome>,
}

/// How a step ended, if not with an error.
pub(crate) enum Outcome {
    /// It was run.
    Passed,
    /// It could not be run here, for a reason that its documentation allows.
    Skipped(String),
}

impl Outcome {
    /// Says what was left out, when a command is run alone.
    pub(crate) fn report(&self) {
        if let Self::Skipped(reason) = self {
            println!("SKIPPED, {reason}");
        }
    }
}

/// Runs the steps in order up to the first failure and prints a summary.
pub(crate) fn run_all(repo: &Repo, steps: &[Step]) -> Result<()> {
    let mut passed = 0;
    let mut skipped = Vec::new();
    for Step { name, fix, run } in steps {
        println!("\n==> {name}");
        let start = Instant::now();
        let outcome = run(repo);
        let seconds = start.elapsed().as_secs_f64();
        match outcome {
            Ok(Outcome::Passed) => {
                passed += 1;
                println!("==> {name}: ok in {seconds:.1} s");
            }
            Ok(Outcome::Skipped(reason)) => {
                println!("==> {name}: SKIPPED, {reason}");
                skipped.push(format!("{name} skipped: {reason}"));
            }
            Err(error) => {
                println!("==> {name}: FAILED after {seconds:.1} s\n\n{passed} passed, 1 failed");
                return Err(error).with_context(|| format!("{name} failed; {fix}"));
            }
        }
    }
    println!();
    for line in skipped {
        println!("{line}");
    }
    println!("{passed} passed, 0 failed");
    Ok(())
}
