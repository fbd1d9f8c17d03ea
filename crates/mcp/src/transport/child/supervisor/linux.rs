use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::pin::pin;
use std::process::{Command, ExitCode};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal as KillSignal, WaitOptions, WaitStatus, getpid, getppid, kill_process,
    kill_process_group, pidfd_open, set_child_subreaper, set_parent_process_death_signal, wait,
};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;

use super::super::config::ExitTimeouts;

/// Starts the program that `args` name and returns when its whole tree has exited.
pub(super) fn run(mut args: impl Iterator<Item = OsString>) -> io::Result<ExitCode> {
    let mut number = |name: &str| {
        let number = args.next().and_then(|text| text.to_str()?.parse().ok());
        number.ok_or_else(|| io::Error::other(format!("no {name} given")))
    };
    let parent = Pid::from_raw(number("parent")?);
    let parent = parent.ok_or_else(|| io::Error::other("no parent given"))?;
    let mut time = |name| {
        let milliseconds = u64::try_from(number(name)?).unwrap_or_default();
        io::Result::Ok(Duration::from_millis(milliseconds))
    };
    let timeouts = ExitTimeouts {
        exit: time("time to exit")?,
        terminate: time("time to terminate")?,
        ..ExitTimeouts::default()
    };
    let program = args
        .next()
        .ok_or_else(|| io::Error::other("no program given"))?;
    let mut command = Command::new(&program);
    command.args(args).process_group(0);
    end_with_supervisor(&mut command);
    // The program must be started from the main thread: its parent-death signal is sent when the thread that
    // started it ends.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let code = runtime.block_on(supervise(parent, command, timeouts));
    // A plain drop would wait for the thread that blocks on the end of our parent.
    runtime.shutdown_background();
    code
}

async fn supervise(
    parent: Pid,
    mut command: Command,
    timeouts: ExitTimeouts,
) -> io::Result<ExitCode> {
    // Before the program starts, or else its first orphans would go to the init process and be lost.
    set_child_subreaper(Some(getpid()))?;
    // Before the start too: SIGUSR1 and SIGUSR2 without a handler would kill this process.
    let mut requests = Requests::listen()?;
    let mut left = signal(SignalKind::from_raw(super::LEAVE.as_raw()))?;
    let mut orphaned = pin!(orphaned(parent));
    // Before the program starts: it may write, and our parent may be gone, before we run again.
    let output = Output::of_this_process();

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

    let is_left = async {
        tokio::select! {
            // A parent that has left the tree to us may be gone when we look: its signal counts more than its
            // exit.
            biased;
            _ = left.recv() => true,
            // A parent that left the tree to us and exited has sent its signal before, which may be
            // noticed after its exit: the signal is looked for once more.
            () = &mut orphaned => timeout(SIGNAL_DELAY, left.recv()).await.is_ok(),
        }
    };
    let status = tokio::select! {
        status = requests.exit_or_kill(program) => status,
        is_left = is_left => match is_left {
            true => {
                output.discard();
                end_step_by_step(program, &mut requests, timeouts).await
            }
            false => None,
        },
    };
    // After an orderly exit too, because the program may have left processes of its own.
    kill_all(program);
    Ok(exit_code(status))
}

/// Time in which a signal that was sent before the exit of our parent is noticed. Signals are
/// delivered before timers, so any time will do.
const SIGNAL_DELAY: Duration = Duration::from_millis(10);

/// Waits for the program to exit, whose input has ended, then sends SIGTERM, and waits again.
/// Returns its status, or `None` if it has to be killed.
async fn end_step_by_step(
    program: Pid,
    requests: &mut Requests,
    timeouts: ExitTimeouts,
) -> Option<WaitStatus> {
    let exit = timeout(timeouts.exit, requests.exit_or_kill(program));
    if let Ok(status) = exit.await {
        return status;
    }
    terminate(program);
    let exit = timeout(timeouts.terminate, requests.exit_or_kill(program));
    exit.await.ok().flatten()
}

/// Signals of our parent and of the system, and exits of processes below us.
struct Requests {
    exits: Signal,
    terminations: Signal,
    kills: Signal,
    interrupts: Signal,
    quits: Signal,
}

impl Requests {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            exits: signal(SignalKind::child())?,
            terminations: signal(SignalKind::terminate())?,
            kills: signal(SignalKind::from_raw(super::KILL.as_raw()))?,
            interrupts: signal(SignalKind::interrupt())?,
            quits: signal(SignalKind::quit())?,
        })
    }

    /// Waits until the program has exited, and returns its status; or until it has to be killed.
    /// Dropping the future is safe.
    async fn exit_or_kill(&mut self, program: Pid) -> Option<WaitStatus> {
        loop {
            tokio::select! {
                _ = self.exits.recv() => {
                    if let Some(status) = reap(program) {
                        return Some(status);
                    }
                }
                _ = self.terminations.recv() => terminate(program),
                _ = self.kills.recv() => return None,
                _ = self.interrupts.recv() => return None,
                _ = self.quits.recv() => return None,
            }
        }
    }
}

fn terminate(program: Pid) {
    // A group that cannot be signalled has exited, and SIGCHLD is on its way.
    let _ = kill_process_group(program, KillSignal::TERM);
}

/// Reading ends of the output and error streams of the program, which our parent reads.
///
/// They are held from the start and read only after our parent has left: a program that writes while
/// it ends would otherwise fail, or be killed, because no process could read it.
struct Output([Option<fs::File>; 2]);

impl Output {
    /// The streams of this process, while they are those that the program has got.
    fn of_this_process() -> Self {
        // Opening a pipe anew gives the end that the open mode asks for.
        Self(["/proc/self/fd/1", "/proc/self/fd/2"].map(|path| fs::File::open(path).ok()))
    }

    /// Reads the streams to their ends, in threads that end with this process.
    fn discard(self) {
        for mut stream in self.0.into_iter().flatten() {
            let read = move || io::copy(&mut stream, &mut io::sink());
            // Without a thread, a program that writes much is killed when its time is over.
            let _ = std::thread::Builder::new().spawn(read);
        }
    }
}

/// Has the system kill the program if the supervisor is killed and cannot do so itself.
#[expect(
    unsafe_code,
    reason = "the signal can only be set between fork and exec, and is kept by exec"
)]
fn end_with_supervisor(command: &mut Command) {
    let supervisor = getpid();
    let before_exec = move || {
        set_parent_process_death_signal(Some(KillSignal::KILL))?;
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
        // Kernels before 5.3 and some sandboxes have no process descriptors.
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
    // One SIGCHLD may stand for several exits.
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
                    // It may have exited since the list was read.
                    let _ = kill_process(child, KillSignal::KILL);
                }
            }
            Err(_) => {
                // Without a list of children only the group can be reached: best-effort.
                let _ = kill_process_group(program, KillSignal::KILL);
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
    // The kernel keeps a list of children for each thread.
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
        None => Some(128 + KillSignal::KILL.as_raw()),
    };
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
