//! Attacks on the resources of the binary, on loopback and bounded in number and time.

mod abandoned;
mod client;
mod killed_supervisor;
mod long_name;
mod page;
mod ping_flood;
mod program;
mod silent;
mod subscriptions;
mod unfinished;
mod unread;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;
use crate::repo::Repo;
pub(crate) use long_name::serve_long_name;
use page::Row;
pub(crate) use ping_flood::serve_flood;

/// Arguments of the command.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Build without optimization, which is quicker
    #[arg(long)]
    debug: bool,
    /// Attack this program instead of the one that is built, and print the table instead of writing it
    #[arg(long, value_name = "FILE", conflicts_with = "debug")]
    program: Option<PathBuf>,
    /// Run these attacks only, and print the table instead of writing it
    attacks: Vec<String>,
}

type Attack = fn(&Path) -> Result<Row>;

/// Attacks by the name that selects them.
const ATTACKS: &[(&str, Attack)] = &[
    ("ping-flood", ping_flood::run),
    ("unread-answers", unread::run),
    ("silent-connections", silent::run),
    ("unfinished-bodies", unfinished::run),
    ("abandoned-sessions", abandoned::run),
    ("subscriptions", subscriptions::run),
    ("long-name", long_name::run),
    ("killed-supervisor", killed_supervisor::run),
];

/// Runs the attacks, prints their outcomes and writes them to `docs/security.md`.
pub(crate) fn run(repo: &Repo, options: &Options) -> Result<()> {
    let (program, build) = match &options.program {
        Some(program) => (program.clone(), "another program"),
        None => build(repo, options.debug)?,
    };
    let mut rows = Vec::new();
    for (name, attack) in ATTACKS {
        if !options.attacks.is_empty() && !options.attacks.iter().any(|chosen| chosen == name) {
            continue;
        }
        let row = attack(&program).with_context(|| format!("attack {name}"))?;
        println!("{name}: {}", row.outcome);
        rows.push(row);
    }
    let table = page::table(build, &rows);
    if options.program.is_some() || !options.attacks.is_empty() {
        println!("{table}");
        return Ok(());
    }
    page::write(&repo.root().join("docs/security.md"), &table)
}

/// Builds the program; returns its path and the description of the build.
fn build(repo: &Repo, debug: bool) -> Result<(PathBuf, &'static str)> {
    let mut args = vec!["build", "-p", "callgate"];
    let (folder, description) = match debug {
        true => ("debug", "a build without optimization"),
        false => ("release", "a release build"),
    };
    if !debug {
        args.push("--release");
    }
    process::run(&mut repo.cargo(&args))?;
    Ok((repo.target(folder).join("callgate"), description))
}

/// A command that runs `program` with as many open files as the system permits.
fn with_many_files(program: &Path) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -n $(ulimit -Hn); exec \"$@\"", "sh"])
        .arg(program);
    command
}
