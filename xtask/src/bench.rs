use anyhow::Result;

use crate::node::Node;
use crate::process;
use crate::python;
use crate::repo::Repo;

/// Builds the benchmark with full optimization and hands `args` to it, with the programs of others
/// where they can be installed.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<()> {
    let mut bench = repo.cargo(&["run", "--profile", "bench", "-p", "callgate-bench", "--"]);
    bench.args(args);
    match Node::install(repo) {
        Ok(node) => {
            bench.arg("--node").arg(node.program());
            bench.arg(node.dir().join("node_modules"));
        }
        Err(error) => eprintln!("measuring without the programs from npm: {error:#}"),
    }
    match python::install(repo) {
        Ok(environment) => {
            bench.arg("--python").arg(environment);
        }
        Err(error) => eprintln!("measuring without the programs from PyPI: {error:#}"),
    }
    process::run(&mut bench)
}
