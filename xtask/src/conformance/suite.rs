use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::results::{self, Results};
use crate::node::Node;
use crate::process;
use crate::repo::Repo;

/// Outer limit of one scenario, which only a client that hangs reaches, however busy the machine is.
const CLIENT_TIMEOUT_MS: &str = "600000";

/// The suite, ready to run at one revision.
pub(super) struct Suite {
    node: Node,
    revision: String,
    /// Folder of our programs.
    programs: PathBuf,
    out: PathBuf,
}

impl Suite {
    /// Prepares an empty folder, named after the program that is `tested`, for the results at `revision`.
    pub(super) fn new(repo: &Repo, node: Node, revision: &str, tested: &str) -> Result<Self> {
        let out = repo.target(format!("conformance/{tested}-{revision}"));
        if out.exists() {
            fs::remove_dir_all(&out)?;
        }
        fs::create_dir_all(&out)?;
        Ok(Self {
            node,
            revision: revision.to_owned(),
            programs: repo.target("debug"),
            out,
        })
    }

    /// Folder that the suite writes to.
    pub(super) fn out(&self) -> &Path {
        &self.out
    }

    /// List of the scenarios that the revision requires, as the suite prints it.
    pub(super) fn requirements(&self) -> Result<String> {
        process::capture(
            self.node
                .suite()
                .args(["list", "--requirements", &self.revision]),
        )
    }

    /// One of our programs.
    pub(super) fn program(&self, name: &str) -> Command {
        Command::new(self.programs.join(name))
    }

    /// Runs every scenario of the revision, or only one, against the server at `url`.
    pub(super) fn test_server(&self, url: &str, only: Option<&str>) -> Result<Results> {
        let mut suite = self.node.suite();
        suite.args(["server", "--url", url]);
        match only {
            Some(scenario) => suite.args(self.single(scenario)),
            None => suite.args(["--requirements", &self.revision]),
        };
        let clean = execute(&mut suite, &self.out)?;
        let mut results = results::read(&self.out)?;
        if !clean {
            results.unclean.push("server".to_owned());
        }
        Ok(results)
    }

    /// Runs each scenario alone, because only the exit code tells that our client failed or hung.
    pub(super) fn test_client(&self, scenarios: &[String]) -> Result<Results> {
        let mut results = Results::default();
        for scenario in scenarios {
            let out = self.out.join(scenario);
            fs::create_dir_all(&out)?;
            let mut suite = self.node.suite();
            // A shell gets to see this command, so it is named without a path that might need quotes.
            suite.args([
                "client",
                "--command",
                "./conformance-client",
                "--timeout",
                CLIENT_TIMEOUT_MS,
            ]);
            suite
                .args(self.single(scenario))
                .current_dir(&self.programs);
            if !execute(&mut suite, &out)? {
                results.unclean.push(scenario.clone());
            }
            results.checks.append(&mut results::read(&out)?.checks);
        }
        Ok(results)
    }

    /// The arguments for one scenario; extensions are on no revision's timeline and need the force.
    fn single<'a>(&'a self, scenario: &'a str) -> [&'a str; 5] {
        [
            "--scenario",
            scenario,
            "--spec-version",
            &self.revision,
            "--force",
        ]
    }
}

/// Runs the suite with its output in `out/suite.log` and returns true if it exited with 0.
fn execute(suite: &mut Command, out: &Path) -> Result<bool> {
    let log = fs::File::create(out.join("suite.log"))?;
    suite.arg("--output-dir").arg(out);
    suite
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log);
    let status = suite
        .status()
        .with_context(|| format!("cannot run {}", process::shown(suite)))?;
    Ok(status.success())
}
