use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process,
    kill_process_group, pidfd_open, set_child_subreaper, set_parent_process_death_signal, wait,
};
use tokio::signal::unix::{SignalKind, signal};

/// Starts the program that `args` name and returns when its whole tree has exited.
pub(super) fn run(mut args: impl Iterator<Item = OsString>) -> io::Result<ExitCode> {
    let parent = args
        .next()
        .and_then(|parent| Pid::from_raw(parent.to_str()?.parse().ok()?))
        .ok_or_else(|| io::Error::other("no parent given"))?;
    let program = args
        .next()
        .ok_or_else(|| io::Error::other("no program given"))?;
    let mut command = Command::new(&program);
    command.args(args).process_group(0);
    end_with_supervisor(&mut command);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let code = runtime.block_on(supervise(parent, command));
    // A plain drop would wait for the thread that blocks on the end of our parent.
    runtime.shutdown_background();
    code
}

async fn supervise(parent: Pid, mut command: Command) -> io::Result<ExitCode> {
    set_child_subreaper(Some(getpid()))?;
    let mut exits = signal(SignalKind::child())?;
    let mut terminations = signal(SignalKind::terminate())?;
    let mut kills = signal(SignalKind::from_raw(super::KILL.as_raw()))?;
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut quits = signal(SignalKind::quit())?;
    let mut orphaned = std::pin::pin!(orphaned(parent));

    let program = command.spawn().map_err(|error| {
        let program = command.get_program().display();
        io::Error::new(error.kind(), format!("`{program}` does not start: {error}"))
    })?;
    let program = Pid::from_child(&program);
    // Our copies are closed, so that the streams end when the program exits.
    let null = fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;

    let mut status = None;
    while status.is_none() {
        tokio::select! {
            _ = exits.recv() => status = reap(program),
            _ = terminations.recv() => {
                // A group that cannot be signalled has exited, and SIGCHLD is on its way.
                let _ = kill_process_group(program, Signal::TERM);
            }
            _ = kills.recv() => break,
            _ = interrupts.recv() => break,
            _ = quits.recv() => break,
            () = &mut orphaned => break,
        }
    }
    kill_all(program);
    Ok(exit_code(status))
}

/// Has the system kill the program if the supervisor is killed and cannot do so itself.
#[expect(
    unsafe_code,
    reason = "the signal can only be set between fork and exec, and is kept by exec"
)]
fn end_with_supervisor(command: &mut Command) {
    let supervisor = getpid();
    let before_exec = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The supervisor may have been killed before the signal was set.
        if getppid() == Some(supervisor) {
            Ok(())
        } else {
            Err(Errno::SRCH.into())
        }
    };
    // SAFETY: the closure only makes system calls; it neither allocates nor takes a lock, which
    // another thread of the supervisor could have held at the fork.
    unsafe { command.pre_exec(before_exec) };
}

/// Waits until our parent has exited.
async fn orphaned(parent: Pid) {
    let process = pidfd_open(parent, PidfdFlags::empty());
    match process {
        // The id may have been reused before it was opened: the process is our parent only if our
        // parent still has this id.
        Ok(process) if getppid() == Some(parent) => {
            // If waiting fails, the tree is ended: better early than never.
            let _ = tokio::task::spawn_blocking(move || wait_for_end(&process)).await;
        }
        _ => {
            while getppid() == Some(parent) {
                tokio::time::sleep(POLL).await;
            }
        }
    }
}

/// Blocks until a process has exited: then its descriptor becomes readable.
fn wait_for_end(process: &OwnedFd) {
    while let Err(Errno::INTR) = poll(&mut [PollFd::new(process, PollFlags::IN)], None) {}
}

/// Interval of the checks for a parent that cannot be waited for.
const POLL: Duration = Duration::from_millis(500);

/// Reaps all exited processes, and returns the status of `program` if it is among them.
fn reap(program: Pid) -> Option<WaitStatus> {
    let mut status = None;
    while let Ok(Some((pid, how))) = wait(WaitOptions::NOHANG) {
        if pid == program {
            status = Some(how);
        }
    }
    status
}

/// Kills until no child is left. The children of a killed process become ours, and are next.
fn kill_all(program: Pid) {
    loop {
        match children() {
            Ok(children) => {
                for child in children {
                    let _ = kill_process(child, Signal::KILL);
                }
            }
            Err(_) => {
                // Without a list of children only the group can be reached: best-effort.
                let _ = kill_process_group(program, Signal::KILL);
                return;
            }
        }
        // All children were killed, so one will exit.
        if matches!(wait(WaitOptions::empty()), Err(error) if error != Errno::INTR) {
            return;
        }
    }
}

fn children() -> io::Result<Vec<Pid>> {
    let mut children = Vec::new();
    for task in fs::read_dir("/proc/self/task")? {
        let list = fs::read_to_string(task?.path().join("children"))?;
        let pids = list.split_whitespace();
        children.extend(pids.filter_map(|pid| Pid::from_raw(pid.parse().ok()?)));
    }
    Ok(children)
}

/// Exit code of the program; 128 plus the signal, as in a shell, if it was killed.
fn exit_code(status: Option<WaitStatus>) -> ExitCode {
    let code = match status {
        Some(status) => status
            .exit_status()
            .or_else(|| Some(128 + status.terminating_signal()?)),
        None => Some(128 + Signal::KILL.as_raw()),
    };
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
