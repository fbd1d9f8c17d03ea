use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::page::Row;
use crate::background::Background;
use crate::process;

/// A server with two more processes, one of them in a session of its own. None of them ends by itself soon.
const SERVER: &str = "sh -c 'setsid sleep 997 & sleep 998 & exec sleep 999'";

/// Number of its processes.
const PROCESSES: usize = 3;

/// Time that the processes have to start, which only a machine that hangs needs.
const START_LIMIT: Duration = Duration::from_secs(120);

/// Time after which a process counts as left.
const LIMIT: Duration = Duration::from_secs(60);

/// Kills the supervisor of a server that `program` has started, and counts the processes that are left.
pub(super) fn run(program: &Path) -> Result<Row> {
    let dir = std::env::temp_dir().join(format!("callgate-attack-{}", std::process::id()));
    let mut command = Command::new(program);
    command.arg("--data-dir").arg(&dir);
    command.args(["relay", "--listen", "127.0.0.1:0", "--stdio", SERVER]);
    let relay = Background::start(command.stderr(Stdio::null()))?;
    let (supervisor, tree) = started(relay.id())?;
    kill(supervisor)?;

    let begin = Instant::now();
    let mut left = tree.clone();
    while !left.is_empty() && begin.elapsed() < LIMIT {
        left.retain(|pid| is_running(*pid));
        std::thread::sleep(Duration::from_millis(10));
    }
    let outcome = match left.len() {
        0 => "no process left".to_owned(),
        number => format!(
            "{number} of {PROCESSES} processes left after {} s",
            LIMIT.as_secs()
        ),
    };
    for pid in left {
        kill(pid)?;
    }
    drop(relay);
    fs::remove_dir_all(&dir)?;
    Ok(Row {
        attack: "The supervisor of a server on stdio with 3 processes, one of them in a session of its own, is killed",
        before: "3 of 3 processes left, even after `callgate` had exited",
        outcome,
    })
}

/// Waits for the server of `relay`; returns its supervisor and its processes.
fn started(relay: u32) -> Result<(u32, BTreeSet<u32>)> {
    let deadline = Instant::now() + START_LIMIT;
    loop {
        let parents = parents()?;
        let children = |of: u32| {
            let children = parents.iter().filter(move |(_, parent)| *parent == of);
            children.map(|(pid, _)| *pid)
        };
        let tree = children(relay).next().map(|supervisor| {
            let mut tree = BTreeSet::new();
            let mut next: Vec<u32> = children(supervisor).collect();
            while let Some(pid) = next.pop() {
                tree.insert(pid);
                next.extend(children(pid));
            }
            (supervisor, tree)
        });
        match tree {
            // All of them run the program that they are to run, so that none is about to start another.
            Some((supervisor, tree))
                if tree.len() == PROCESSES && tree.iter().all(|pid| is_running(*pid)) =>
            {
                return Ok((supervisor, tree));
            }
            _ if Instant::now() > deadline => bail!("the server has not started"),
            _ => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// All processes with their parents.
fn parents() -> Result<Vec<(u32, u32)>> {
    let processes = fs::read_dir("/proc").context("this attack needs /proc")?;
    Ok(processes
        .filter_map(|process| {
            let pid = process.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            Some((pid, parent(&stat)?))
        })
        .collect())
}

fn parent(stat: &str) -> Option<u32> {
    // The name of the program comes before, in parentheses, and may contain anything.
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(1)?.parse().ok()
}

/// True if a process runs the program of the server. One that waits to be reaped has no command line.
fn is_running(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(b"sleep"))
}

fn kill(pid: u32) -> Result<()> {
    process::run(Command::new("kill").args(["-KILL", &pid.to_string()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_read_from_the_file_of_the_kernel() {
        assert_eq!(parent("7 (a) b) S 41 7 7 0 -1"), Some(41));
        assert_eq!(parent(""), None);
    }
}
