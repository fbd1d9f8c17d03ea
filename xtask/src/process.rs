//! Running other programs, with errors that name the next step.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};

/// Limit of one command, which only a command that hangs reaches, a cold build on a busy machine included.
///
/// Without it a test that waits for ever would hide the results of all later steps.
const COMMAND_LIMIT: Duration = Duration::from_secs(45 * 60);

const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The cargo that runs this program.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Runs `command` on our terminal; anything but success is an error.
///
/// A command that takes too long is ended with all its processes.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    run_within(command, COMMAND_LIMIT)
}

fn run_within(command: &mut Command, limit: Duration) -> Result<()> {
    let mut child = command
        .spawn()
        .map_err(|error| cannot_start(command, error))?;
    let Some(status) = wait(&mut child, limit)? else {
        end_tree(child);
        bail!("{} did not end within {limit:?}", shown(command));
    };
    ensure!(status.success(), "{} failed ({status})", shown(command));
    Ok(())
}

/// Exit status of `child`, or none if it runs longer than `limit`.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Kills `child` and the processes below it, best-effort: `cargo` does not end the tests that it started.
fn end_tree(mut child: Child) {
    let below = descendants(child.id());
    let _ = child.kill();
    let _ = child.wait();
    for process in below {
        let _ = Command::new("kill")
            .args(["-KILL", &process.to_string()])
            .status();
    }
}

/// Processes below `process`; none where the system has no `/proc`.
fn descendants(process: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pairs: Vec<(u32, u32)> = entries.filter_map(|entry| parent(&entry)).collect();
    let mut found = vec![process];
    let mut next = 0;
    while let Some(&above) = found.get(next) {
        let below = pairs.iter().filter(|(_, parent)| *parent == above);
        found.extend(below.map(|(process, _)| *process));
        next += 1;
    }
    found.split_off(1)
}

/// A process in `/proc` and its parent.
fn parent(entry: &std::fs::DirEntry) -> Option<(u32, u32)> {
    let process = entry.file_name().to_str()?.parse().ok()?;
    let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
    // The name of the program comes before, in parentheses, and may contain anything.
    let (_, after_name) = stat.rsplit_once(')')?;
    let parent = after_name.split_whitespace().nth(1)?.parse().ok()?;
    Some((process, parent))
}

/// Runs `command` and returns its standard output; anything but success is an error.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_hangs_is_ended_with_its_processes() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut hanging = Command::new("sh");
        hanging
            .args(["-c", "sleep 1000 & sleep 1000"])
            .stdout(writer);
        let error = run_within(&mut hanging, Duration::from_millis(300)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "sh -c sleep 1000 & sleep 1000 did not end within 300ms"
        );
        drop(hanging);
        // Ends when no process holds the other end any more.
        std::io::copy(&mut reader, &mut std::io::sink()).unwrap();
    }
}
