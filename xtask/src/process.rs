//! Running other programs, with errors that say what to do.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, anyhow, ensure};

/// The cargo that runs this program.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Runs `command` on our terminal; anything but success is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .map_err(|error| cannot_start(command, error))?;
    ensure!(status.success(), "{} failed ({status})", shown(command));
    Ok(())
}

/// Runs `command` and returns what it printed on standard output; anything but success is an error.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let Output {
        status,
        stdout,
        stderr,
    } = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| cannot_start(command, error))?;
    let stderr = String::from_utf8_lossy(&stderr);
    ensure!(
        status.success(),
        "{} failed ({status}):\n{}",
        shown(command),
        stderr.trim_end()
    );
    String::from_utf8(stdout).with_context(|| format!("{} printed invalid UTF-8", shown(command)))
}

/// Fails with `install` unless `program` runs with `args`.
pub(crate) fn require(program: &str, args: &[&str], install: &str) -> Result<()> {
    let found = if program == "cargo" {
        cargo()
    } else {
        program.into()
    };
    let works = Command::new(found)
        .args(args)
        .output()
        .is_ok_and(|output| output.status.success());
    ensure!(
        works,
        "`{program} {}` does not work; {install}",
        args.join(" ")
    );
    Ok(())
}

/// The command line, for messages.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

fn cannot_start(command: &Command, error: std::io::Error) -> anyhow::Error {
    let program = command.get_program().to_string_lossy().into_owned();
    if error.kind() == ErrorKind::NotFound {
        anyhow!("`{program}` was not found; install it and put it on PATH")
    } else {
        anyhow::Error::new(error).context(format!("cannot start `{program}`"))
    }
}
