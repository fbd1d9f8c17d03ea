//! Repository chores, run as `cargo xtask <command>`.
//!
//! # Layout
//!
//! One file per command, in the order in which `test` runs them; `repo`, `process` and `step` are what they share.

mod process;
mod repo;
mod spec;
mod step;
mod test;
mod tidy;

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;

use repo::Repo;

fn main() -> Result<()> {
    let command = Command::parse();
    let repo = Repo::find()?;
    match command {
        Command::Test => test::run(&repo),
        Command::Tidy => tidy::run(&repo),
        Command::Spec { spec } => spec::run(&repo, spec).map(|outcome| outcome.report()),
    }
}

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Repository chores")]
enum Command {
    /// Run everything that continuous integration runs
    Test,
    /// Check the invariants of docs/architecture.md
    Tidy,
    /// Check the wire types against the schemas of the specification
    Spec {
        /// The folder that holds one folder per revision
        #[arg(long, value_name = "DIR")]
        spec: Option<PathBuf>,
    },
}
