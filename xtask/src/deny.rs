use anyhow::Result;

use crate::process;
use crate::repo::Repo;

/// Checks licenses, duplicate versions and sources of the dependencies against `deny.toml`.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    let install = "run `cargo install cargo-deny --locked`";
    process::require("cargo", &["deny", "--version"], install)?;
    process::run(&mut repo.cargo(&["deny", "check", "bans", "licenses", "sources"]))
}
