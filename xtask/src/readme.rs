//! The commands that the README shows, run as written.
//!
//! A code block with the info string `sh test` is run and must succeed; a `text` block after it is its output.
//! A block with `sh test background` is a server that runs until all blocks have been run.

mod block;
mod expected;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::background::Background;
use crate::process;
use crate::repo::Repo;
use block::{Block, Run};

/// Outer limit of one block, which only a block that never ends reaches, however busy the machine is.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// Runs the marked blocks in order, in one empty directory and with an empty home.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    let text =
        fs::read_to_string(repo.root().join("README.md")).context("cannot read README.md")?;
    let blocks = block::parse(&text);
    ensure!(
        !blocks.is_empty(),
        "README.md marks no block with `sh test`"
    );
    process::run(&mut repo.cargo(&["build", "--release", "-p", "callgate"]))?;
    let dir = repo.target("readme");
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    fs::create_dir_all(dir.join("home"))?;
    fs::create_dir_all(dir.join("work"))?;
    let mut servers = Vec::new();
    for block in &blocks {
        println!("README.md:{}", block.line);
        let context = || format!("README.md:{}:\n{}", block.line, block.script);
        match block.run {
            Run::Background => {
                let script = format!("exec 2>&1; exec {}", block.script.trim());
                let server = Background::start(&mut shell(repo, &dir, &script)?);
                servers.push(server.with_context(context)?);
            }
            Run::ToTheEnd => run_block(repo, &dir, block).with_context(context)?,
        }
    }
    println!("{} blocks work as written", blocks.len());
    Ok(())
}

/// Runs one block and compares its output.
fn run_block(repo: &Repo, dir: &Path, block: &Block) -> Result<()> {
    let log = dir.join("output");
    let output = fs::File::create(&log)?;
    let mut command = shell(repo, dir, &block.script)?;
    command
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output);
    let mut child = command.spawn().context("cannot start sh")?;
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > TIME_LIMIT {
            child.kill()?;
            bail!("still running after {TIME_LIMIT:?}; is it a `background` block?");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let output = fs::read_to_string(log)?;
    ensure!(status.success(), "{status}, after printing:\n{output}");
    if let Some(text) = &block.output {
        ensure!(
            expected::appears(text, &output),
            "expected:\n{text}\nbut it printed:\n{output}"
        );
    }
    Ok(())
}

/// A shell that finds the built binary and stops at the first error.
fn shell(repo: &Repo, dir: &Path, script: &str) -> Result<Command> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(repo.target("release")).chain(std::env::split_paths(&path));
    let mut command = Command::new("sh");
    command.args(["-euc", script]).current_dir(dir.join("work"));
    command
        .env("PATH", std::env::join_paths(path)?)
        .env("HOME", dir.join("home"));
    for name in [
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "XDG_CACHE_HOME",
    ] {
        command.env_remove(name);
    }
    Ok(command)
}
