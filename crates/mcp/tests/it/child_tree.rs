//! Nothing of a child survives, however it was forked and however its parent or its supervisor ends.

#[cfg(target_os = "linux")]
use std::fs::File;
#[cfg(target_os = "linux")]
use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use callgate_mcp::transport::child::{ExitTimeouts, ModernChild};
#[cfg(target_os = "linux")]
use rustix::fs::{CWD, Mode, mkfifoat};
#[cfg(target_os = "linux")]
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::child_fixture::{PEER, Signs, peer, supervised};
use crate::stdio_fixture::soon;

/// Shapes of process trees, and the processes that report from each.
const SHAPES: [(&str, &[&str]); 4] = [
    ("plain", &["plain"]),
    ("stubborn", &["stubborn"]),
    ("daemon", &["daemon", "orphan"]),
    ("wrapper", &["stubborn", "wrapper"]),
];

async fn start(shape: &str, names: &[&str]) -> (ModernChild, Signs) {
    let mut signs = Signs::new();
    let mut config = supervised(peer(["shape", shape, &signs.path()]));
    config.exit_timeouts = ExitTimeouts::default();
    config.exit_timeouts.exit = Duration::from_millis(100);
    config.exit_timeouts.terminate = Duration::from_millis(100);
    let child = ModernChild::spawn(&config).expect("the child starts");
    signs.born(names).await;
    (child, signs)
}

#[tokio::test]
async fn nothing_survives_a_drop() {
    for (shape, names) in SHAPES {
        let (child, signs) = start(shape, names).await;
        drop(child);
        signs.gone().await;
    }
}

#[tokio::test]
async fn nothing_survives_a_close() {
    for (shape, names) in SHAPES {
        let (child, signs) = start(shape, names).await;
        soon(child.close()).await;
        signs.gone().await;
    }
}

async fn parent(end: &str, shape: &str, names: &[&str]) -> (tokio::process::Child, Signs) {
    let mut signs = Signs::new();
    let parent = Command::new(PEER)
        .args(["parent", end, shape, &signs.path()])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the parent starts");
    signs.born(names).await;
    (parent, signs)
}

#[tokio::test]
async fn nothing_survives_a_parent_that_panics_or_exits() {
    for (end, code) in [("panic", 101), ("exit", 0)] {
        for (shape, names) in SHAPES {
            let (mut parent, signs) = parent(end, shape, names).await;
            let mut input = parent.stdin.take().unwrap();
            input.write_all(b"!").await.unwrap();
            assert_eq!(soon(parent.wait()).await.unwrap().code(), Some(code));
            signs.gone().await;
        }
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_survives_a_close_that_is_left_to_the_supervisor() {
    for (shape, names) in SHAPES {
        let (mut parent, signs) = parent("leave", shape, names).await;
        let mut input = parent.stdin.take().unwrap();
        input.write_all(b"!").await.unwrap();
        assert!(soon(parent.wait()).await.unwrap().success());
        signs.gone().await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_child_that_is_left_to_the_supervisor_finishes_its_work_after_its_parent() {
    let (mut parent, mut signs) = parent("leave-time", "talkative", &["talkative"]).await;
    let go = format!("{}.go", signs.path());
    mkfifoat(CWD, &go, Mode::from_raw_mode(0o600)).unwrap();
    let mut input = parent.stdin.take().unwrap();
    input.write_all(b"!").await.unwrap();
    assert!(soon(parent.wait()).await.unwrap().success());
    // Opened for both, so that this does not wait for the child.
    let mut go = File::options().read(true).write(true).open(go).unwrap();
    go.write_all(b"!").unwrap();
    signs.born(&["finished"]).await;
    signs.gone().await;
}

#[tokio::test]
async fn nothing_survives_a_parent_that_is_killed() {
    for (shape, names) in SHAPES {
        let (mut parent, signs) = parent("panic", shape, names).await;
        soon(parent.kill()).await.unwrap();
        signs.gone().await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_survives_a_supervisor_that_is_killed() {
    for (shape, names) in SHAPES {
        let (child, signs) = start(shape, names).await;
        kill_process(supervisor(&signs), Signal::KILL).unwrap();
        signs.gone().await;
        let reason = soon(child.closed()).await.to_string();
        assert_eq!(reason, "server `peer` exited (signal: 9 (SIGKILL))");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_ends_with_its_supervisor_even_if_the_parent_does_nothing() {
    let (mut parent, signs) = parent("panic", "stubborn", &["stubborn"]).await;
    let pid = i32::try_from(parent.id().unwrap()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::STOP).unwrap();
    kill_process(supervisor(&signs), Signal::KILL).unwrap();
    signs.gone().await;
    soon(parent.kill()).await.unwrap();
}

/// The supervisor of the tree that holds the signs open: it has their path in its command line.
#[cfg(target_os = "linux")]
fn supervisor(signs: &Signs) -> Pid {
    let processes = std::fs::read_dir("/proc").unwrap();
    let found = processes.filter_map(|process| {
        let directory = process.ok()?;
        let pid = directory.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(directory.path().join("cmdline")).ok()?;
        let line = String::from_utf8(line).ok()?;
        let args: Vec<&str> = line.split('\0').collect();
        let is_supervisor = args.get(1) == Some(&"--callgate-supervise");
        (is_supervisor && args.contains(&&*signs.path())).then(|| Pid::from_raw(pid))?
    });
    let found: Vec<Pid> = found.collect();
    assert_eq!(found.len(), 1);
    found[0]
}
