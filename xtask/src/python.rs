use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;
use crate::repo::Repo;

/// Packages from PyPI: peers of the tests.
const PACKAGES: &[&str] = &[
    "fastmcp==4.1.2",
    "mcp==2.3.0",
    "mcp-server-git==2026.10.19",
    "mcp-server-time==2026.10.19",
];

/// Installs the Python packages in a virtual environment under the build directory and returns it.
pub(crate) fn install(repo: &Repo) -> Result<PathBuf> {
    let venv = repo.target("peers/py");
    let stamp = venv.join("installed");
    let pins = PACKAGES.join("\n");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == pins) {
        return Ok(venv);
    }
    println!("installing {}", PACKAGES.join(", "));
    process::capture(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&venv),
    )?;
    let mut pip = Command::new(venv.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ])
    .args(PACKAGES);
    process::capture(&mut pip).context("pip has to reach its index")?;
    fs::write(stamp, pins)?;
    Ok(venv)
}
