use anyhow::Result;

use crate::process;
use crate::repo::Repo;

/// Builds the benchmark with full optimization and hands `args` to it.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<()> {
    let mut bench = repo.cargo(&["run", "--profile", "bench", "-p", "callgate-bench", "--"]);
    process::run(bench.args(args))
}
