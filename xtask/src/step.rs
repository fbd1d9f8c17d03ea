//! Steps of `cargo xtask test`: running them, and the summary at the end.

use std::fmt::Write;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};

use crate::repo::Repo;

/// One part of `cargo xtask test`.
pub(crate) struct Step {
    /// Heading in the output, and the argument that selects the step.
    pub(crate) name: &'static str,
    /// Advice for the case that it fails.
    pub(crate) fix: &'static str,
    /// Does the work.
    pub(crate) run: fn(&Repo) -> Result<Outcome>,
}

/// End of a step that did not fail.
pub(crate) enum Outcome {
    /// It was run.
    Passed,
    /// It could not be run here, for a reason that its documentation allows.
    Skipped(String),
}

impl Outcome {
    /// Prints the reason if the step was skipped, for a command that is run alone.
    pub(crate) fn report(&self) {
        if let Self::Skipped(reason) = self {
            println!("SKIPPED, {reason}");
        }
    }
}

/// Runs the steps with these names, or all if none is given, and fails if one of them failed.
///
/// A failure does not end the run: later steps say more about the same change, and a user who waits
/// for an hour wants to know everything that is broken.
pub(crate) fn run_all(repo: &Repo, steps: &[Step], names: &[String]) -> Result<()> {
    let steps = select(steps, names)?;
    let reports: Vec<Report<'_>> = steps
        .into_iter()
        .map(|step| Report::of(step, || (step.run)(repo)))
        .collect();
    print!("\n{}", summary(&reports));
    match reports.iter().filter(|report| report.failed()).count() {
        0 => Ok(()),
        failed => bail!("{failed} of {} steps failed", reports.len()),
    }
}

/// Runs `work` for every item, and fails at the end with all errors if there were any.
pub(crate) fn run_each<T>(
    items: impl IntoIterator<Item = T>,
    work: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let failed = items.into_iter().map(work).filter_map(Result::err);
    let failed: Vec<String> = failed.map(|error| format!("{error:#}")).collect();
    match failed.as_slice() {
        [] => Ok(()),
        failed => Err(anyhow!(failed.join("\n"))),
    }
}

/// The steps with these names in the order of the table; all of them if no name is given.
fn select<'s>(steps: &'s [Step], names: &[String]) -> Result<Vec<&'s Step>> {
    if let Some(unknown) = names
        .iter()
        .find(|name| !steps.iter().any(|step| step.name == **name))
    {
        let known: Vec<&str> = steps.iter().map(|step| step.name).collect();
        bail!("no step `{unknown}`; there are {}", known.join(", "));
    }
    let is_wanted =
        |step: &&Step| names.is_empty() || names.iter().any(|name| name.as_str() == step.name);
    Ok(steps.iter().filter(is_wanted).collect())
}

/// A step that has been run.
struct Report<'s> {
    step: &'s Step,
    outcome: Result<Outcome>,
}

impl<'s> Report<'s> {
    /// Runs a step between two lines that say which it is and how it ended.
    fn of(step: &'s Step, run: impl FnOnce() -> Result<Outcome>) -> Self {
        println!("\n==> {}", step.name);
        let start = Instant::now();
        let outcome = run();
        println!("{}", headline(step.name, &outcome, start.elapsed()));
        Self { step, outcome }
    }

    fn failed(&self) -> bool {
        self.outcome.is_err()
    }
}

fn headline(name: &str, outcome: &Result<Outcome>, took: Duration) -> String {
    let seconds = took.as_secs_f64();
    match outcome {
        Ok(Outcome::Passed) => format!("==> {name}: ok in {seconds:.1} s"),
        Ok(Outcome::Skipped(reason)) => format!("==> {name}: SKIPPED, {reason}"),
        // The error stands here too, below the output that explains it, and not only in the summary.
        Err(error) => format!("==> {name}: FAILED after {seconds:.1} s: {error:#}"),
    }
}

/// The last lines of a run: skipped steps, failed steps with their errors, and the counts.
fn summary(reports: &[Report<'_>]) -> String {
    let mut text = String::new();
    let (mut passed, mut failed) = (0, Vec::new());
    for Report { step, outcome } in reports {
        let name = step.name;
        match outcome {
            Ok(Outcome::Passed) => passed += 1,
            Ok(Outcome::Skipped(reason)) => {
                let _ = writeln!(text, "{name} skipped: {reason}");
            }
            Err(error) => {
                let _ = writeln!(
                    text,
                    "{name} failed: {error:#}\n    {}\n    run it alone with `cargo xtask test {name}`",
                    step.fix
                );
                failed.push(name);
            }
        }
    }
    if failed.len() > 1 {
        let names = failed.join(" ");
        let _ = writeln!(text, "run these alone with `cargo xtask test {names}`");
    }
    let _ = writeln!(text, "{passed} passed, {} failed", failed.len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: &[Step] = &[
        step("fmt", "run `cargo fmt`"),
        step("tests", "read the output"),
        step("spec", "read the schemas"),
        step("readme", "correct README.md"),
    ];

    const fn step(name: &'static str, fix: &'static str) -> Step {
        Step {
            name,
            fix,
            run: |_| Ok(Outcome::Passed),
        }
    }

    fn outcome(name: &str) -> Result<Outcome> {
        match name {
            "fmt" => Err(anyhow!("exit code 1").context("cargo fmt failed")),
            "spec" => Ok(Outcome::Skipped("no schemas".to_owned())),
            "readme" => Err(anyhow!("line 7 differs")),
            _ => Ok(Outcome::Passed),
        }
    }

    fn ran(names: &[&str]) -> Vec<Report<'static>> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let steps = select(STEPS, &names).unwrap();
        let run = |step: &'static Step| Report::of(step, || outcome(step.name));
        steps.into_iter().map(run).collect()
    }

    #[test]
    fn steps_after_a_failed_one_are_run_and_all_failures_are_listed() {
        assert_eq!(
            summary(&ran(&[])),
            "fmt failed: cargo fmt failed: exit code 1\n\
             \x20   run `cargo fmt`\n\
             \x20   run it alone with `cargo xtask test fmt`\n\
             spec skipped: no schemas\n\
             readme failed: line 7 differs\n\
             \x20   correct README.md\n\
             \x20   run it alone with `cargo xtask test readme`\n\
             run these alone with `cargo xtask test fmt readme`\n\
             1 passed, 2 failed\n"
        );
    }

    #[test]
    fn only_the_named_steps_are_run() {
        assert_eq!(
            summary(&ran(&["spec", "tests"])),
            "spec skipped: no schemas\n1 passed, 0 failed\n"
        );
        let unknown = select(STEPS, &["fmt".to_owned(), "test".to_owned()]).err();
        assert_eq!(
            unknown.unwrap().to_string(),
            "no step `test`; there are fmt, tests, spec, readme"
        );
    }

    #[test]
    fn every_part_of_a_step_is_run_and_all_errors_are_listed() {
        let mut done = Vec::new();
        let outcome = run_each([1, 2, 3], |item| {
            done.push(item);
            match item {
                2 => Ok(()),
                _ => Err(anyhow!("{item} is odd").context("refused")),
            }
        });
        assert_eq!(
            outcome.unwrap_err().to_string(),
            "refused: 1 is odd\nrefused: 3 is odd"
        );
        assert_eq!(done, [1, 2, 3]);
        run_each([2], |_| Ok(())).unwrap();
    }
}
