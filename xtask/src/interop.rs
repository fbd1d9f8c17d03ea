use anyhow::Result;

use crate::node::Node;
use crate::process;
use crate::python;
use crate::repo::Repo;
use crate::step::run_each;

/// Tests our client and server against other implementations.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    let venv = python::install(repo)?;
    let node = Node::install(repo)?;
    let clients = node.install_clients(repo)?;
    run_each(["callgate-mcp", "callgate"], |package| {
        let mut test = repo.cargo(&["test", "-p", package, "--test", "interop"]);
        test.args(["--", "--nocapture", "--include-ignored"])
            .env("CALLGATE_PEERS_PY", &venv)
            .env("CALLGATE_PEERS_NODE", node.program())
            .env("CALLGATE_PEERS_NPM", node.dir())
            .env("CALLGATE_PEERS_CLIENTS", &clients);
        process::run(&mut test)
    })
}
