use serde::{Deserialize, Serialize};

use super::process_table;

/// A process. Its start time tells it from a later process with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessIdentity {
    pub(crate) pid: u32,
    /// Start time in ticks since the machine started; `None` where the system does not tell.
    pub(crate) start_ticks: Option<u64>,
}

impl ProcessIdentity {
    pub(crate) fn of_this_process() -> Self {
        let pid = std::process::id();
        Self {
            pid,
            start_ticks: process_table::start_ticks(pid),
        }
    }

    /// The process with this number; `None` if it has exited.
    pub(crate) fn of_running(pid: u32) -> Option<Self> {
        let start_ticks = Some(process_table::start_ticks(pid)?);
        Some(Self { pid, start_ticks })
    }

    /// True if the process still runs. Best-effort where the system tells no start times: another process may
    /// have its number.
    pub(crate) fn is_alive(&self) -> bool {
        match self.start_ticks {
            Some(ticks) => process_table::start_ticks(self.pid) == Some(ticks),
            None => exists(self.pid),
        }
    }

    /// True if the process is stopped by a signal. Best-effort: only Linux tells.
    pub(crate) fn is_suspended(&self) -> bool {
        process_table::is_suspended(self.pid)
    }
}

#[cfg(unix)]
fn exists(pid: u32) -> bool {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

/// Without a way to ask, a record counts until its process removes it.
#[cfg(not(unix))]
fn exists(_pid: u32) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::ProcessIdentity;

    #[test]
    fn a_process_is_told_from_another_with_its_number() {
        let own = ProcessIdentity::of_this_process();
        assert!(own.is_alive());
        let earlier = ProcessIdentity {
            start_ticks: Some(1),
            ..own
        };
        assert!(!earlier.is_alive());
    }
}
