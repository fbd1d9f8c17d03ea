//! The official conformance suite, judged more strictly than it judges itself.

pub(crate) mod bridge;
mod gate;
mod results;
mod scenarios;
mod suite;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use crate::background::Background;
use crate::node::Node;
use crate::process;
use crate::repo::Repo;
use crate::step::run_each;
use gate::Verdict;
use results::Results;
use suite::Suite;

/// The revisions that `cargo xtask test` holds us to, the newest first.
pub(crate) const REVISIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];

/// A revision of which the suite requires nothing, but which logged in differently from all later ones.
const FIRST_LOGIN: &str = "2025-03-26";

/// Scenarios to run.
pub(crate) struct Plan {
    /// The program under test.
    pub(crate) side: Side,
    /// The revision of the protocol, which names the set of required scenarios.
    pub(crate) revision: String,
    /// Only this scenario, if any.
    pub(crate) scenario: Option<String>,
}

/// Side of ours that is under test.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Side {
    /// The suite plays the client
    Server,
    /// The suite plays the server
    Client,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

/// Runs everything that `cargo xtask test` holds us to.
pub(crate) fn run_all(repo: &Repo, side: Side) -> Result<()> {
    let first_login = matches!(side, Side::Client).then_some(FIRST_LOGIN);
    run_each(REVISIONS.into_iter().chain(first_login), |revision| {
        println!("revision {revision}");
        let plan = Plan {
            side,
            revision: revision.to_owned(),
            scenario: None,
        };
        run(repo, &plan).with_context(|| format!("revision {revision}"))
    })
}

/// Runs the scenarios of `plan` and fails unless each of them passes the gate.
pub(crate) fn run(repo: &Repo, plan: &Plan) -> Result<()> {
    let node = Node::install(repo)?;
    process::run(&mut repo.cargo(&["build", "-p", "callgate-conformance", "--bins"]))?;
    let suite = Suite::new(repo, node, &plan.revision, plan.side.name())?;
    let scenarios = match &plan.scenario {
        Some(scenario) => vec![scenario.clone()],
        None => scenarios(&suite, &plan.revision, plan.side)?,
    };
    let results = match plan.side {
        Side::Server => {
            let mut server = suite.program("conformance-server");
            let server = Background::start(server.arg("127.0.0.1:0"))?;
            match &plan.scenario {
                Some(scenario) => suite.test_server(server.url(), Some(scenario))?,
                None => test_all(&suite, server.url(), &scenarios)?,
            }
        }
        Side::Client => suite.test_client(&scenarios)?,
    };
    judge(&scenarios, &results, suite.out())
}

/// Runs the scenarios of the revision, and then those of `scenarios` that are not among them.
fn test_all(suite: &Suite, url: &str, scenarios: &[String]) -> Result<Results> {
    let mut results = suite.test_server(url, None)?;
    for scenario in scenarios {
        if !results.checks.contains_key(scenario) {
            let mut alone = suite.test_server(url, Some(scenario))?;
            alone.unclean.append(&mut results.unclean);
            results = alone;
        }
    }
    Ok(results)
}

/// Every scenario that we hold ourselves to.
fn scenarios(suite: &Suite, revision: &str, side: Side) -> Result<Vec<String>> {
    let mut names = match (revision, side) {
        (FIRST_LOGIN, Side::Client) => Vec::new(),
        _ => scenarios::required(&suite.requirements()?, side)?,
    };
    let required = names.len();
    let unscored = scenarios::unscored(revision, side);
    names.extend(unscored.iter().map(ToString::to_string));
    println!(
        "{required} scenarios that the revision requires, {} more",
        unscored.len()
    );
    Ok(names)
}

/// Prints the verdicts as a table and fails if one of them is bad.
fn judge(scenarios: &[String], results: &Results, out: &Path) -> Result<()> {
    let (mut passed, mut untested) = (0, 0);
    println!("{:<46} | successes | verdict", "scenario");
    for name in scenarios {
        let checks = results.checks.get(name).map(Vec::as_slice);
        let verdict = gate::verdict(name, checks);
        let checks = checks.unwrap_or_default();
        println!("{name:<46} | {:>9} | {verdict}", gate::successes(checks));
        for problem in gate::problems(checks) {
            println!("    {problem}");
        }
        match verdict {
            Verdict::Passed => passed += 1,
            Verdict::Unfinished => untested += 1,
            _ => {}
        }
    }
    let bad = scenarios.len() - passed - untested;
    println!("{passed} scenarios passed, {untested} untested, {bad} failed");
    let out = out.display();
    ensure!(
        bad == 0,
        "{bad} scenarios failed; the suite's files are in {out}"
    );
    let unclean = results.unclean.join(", ");
    ensure!(
        unclean.is_empty(),
        "the suite exited with an error ({unclean}); see {out}"
    );
    Ok(())
}
