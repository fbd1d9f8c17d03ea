use anyhow::Result;

use crate::process;
use crate::python;
use crate::repo::Repo;

/// Tests our client and server against other implementations.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    let venv = python::install(repo)?;
    let mut test = repo.cargo(&[
        "test",
        "-p",
        "callgate-mcp",
        "--test",
        "interop",
        "--",
        "--nocapture",
    ]);
    process::run(test.env("CALLGATE_PEERS_PY", venv))
}
