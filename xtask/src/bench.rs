use anyhow::Result;

use crate::node::Node;
use crate::process;
use crate::repo::Repo;

/// Builds the benchmark with full optimization and hands `args` to it, with the other command-line
/// clients where they can be installed.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<()> {
    let mut bench = repo.cargo(&["run", "--profile", "bench", "-p", "callgate-bench", "--"]);
    bench.args(args);
    match Node::install(repo) {
        Ok(node) => {
            bench.arg("--peers").arg(node.program());
            bench.arg(node.dir().join("node_modules"));
        }
        Err(error) => eprintln!("measuring without the clients from npm: {error:#}"),
    }
    process::run(&mut bench)
}
