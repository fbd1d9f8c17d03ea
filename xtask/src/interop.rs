use anyhow::Result;

use crate::node::Node;
use crate::process;
use crate::python;
use crate::repo::Repo;

/// Tests our client and server against other implementations.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    let venv = python::install(repo)?;
    let node = Node::install(repo)?;
    for package in ["callgate-mcp", "callgate"] {
        let mut test = repo.cargo(&["test", "-p", package, "--test", "interop"]);
        test.args(["--", "--nocapture"])
            .env("CALLGATE_PEERS_PY", &venv)
            .env("CALLGATE_PEERS_NODE", node.program())
            .env("CALLGATE_PEERS_NPM", node.dir());
        process::run(&mut test)?;
    }
    Ok(())
}
