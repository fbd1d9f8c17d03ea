#[cfg(target_os = "linux")]
use std::fs;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;

#[cfg(target_os = "linux")]
use rustix::event::{PollFd, PollFlags, Timespec, poll};
#[cfg(target_os = "linux")]
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::seal::random;

/// Mark in the environment of all processes of a tree, by which they are found after their
/// supervisor was killed.
///
/// Best-effort: a process that was started with an environment of its own does not have it.
#[derive(Debug, Clone)]
pub(super) struct TreeMark(String);

const VARIABLE: &str = "CALLGATE_TREE";

impl TreeMark {
    pub(super) fn random() -> Self {
        Self(format!("{:032x}", u128::from_ne_bytes(random())))
    }

    /// Name and value of the variable.
    pub(super) fn variable(&self) -> (&str, &str) {
        (VARIABLE, &self.0)
    }

    /// Kills the processes that have the mark until there are none. Blocks.
    #[cfg(target_os = "linux")]
    pub(super) fn kill_all(&self) {
        let variable = format!("{VARIABLE}={}", self.0);
        // A process may start another one before it is killed, which is found in the next round.
        for _ in 0..MAX_ROUNDS {
            let mut processes = marked(variable.as_bytes());
            // A process that cannot be signaled has exited or belongs to another user: no further round would
            // end it.
            processes.retain(|process| pidfd_send_signal(process, Signal::KILL).is_ok());
            if processes.is_empty() {
                return;
            }
            for process in &processes {
                // A process that has not exited by then is killed again.
                let _ = poll(
                    &mut [PollFd::new(process, PollFlags::IN)],
                    Some(&EXIT_TIMEOUT),
                );
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn kill_all(&self) {}
}

/// Maximum number of searches, in case that processes are started faster than they are killed.
#[cfg(target_os = "linux")]
const MAX_ROUNDS: usize = 100;

/// Time for a killed process to exit before the next search.
#[cfg(target_os = "linux")]
const EXIT_TIMEOUT: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

#[cfg(target_os = "linux")]
fn marked(variable: &[u8]) -> Vec<OwnedFd> {
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let marked = processes.filter_map(|process| {
        let directory = process.ok()?;
        let pid = Pid::from_raw(directory.file_name().to_str()?.parse().ok()?)?;
        // Opened before it is looked at: a process that takes over the id later is not killed.
        let process = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        let environment = fs::read(directory.path().join("environ")).ok()?;
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|one| one == variable).then_some(process)
    });
    marked.collect()
}
