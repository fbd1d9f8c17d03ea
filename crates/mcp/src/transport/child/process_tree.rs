#[cfg(unix)]
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Process tree of a child, which can be signalled until the child has exited.
#[cfg(unix)]
#[derive(Debug)]
pub(super) struct ProcessTree {
    root: Option<Root>,
    is_gone: AtomicBool,
}

/// Process that receives the signals.
#[cfg(unix)]
#[derive(Debug, Clone, Copy)]
enum Root {
    /// The supervisor, which passes them on.
    Supervisor(Pid),
    /// The process group of the child.
    Group(Pid),
}

#[cfg(unix)]
impl ProcessTree {
    /// The tree below the process `id`, which leads a process group.
    pub(super) fn new(id: Option<u32>, supervised: bool) -> Self {
        let pid = id.and_then(|id| Pid::from_raw(id.try_into().ok()?));
        Self {
            root: pid.map(if supervised {
                Root::Supervisor
            } else {
                Root::Group
            }),
            is_gone: AtomicBool::new(false),
        }
    }

    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM, Signal::TERM);
    }

    /// Kills the whole tree. Does not wait.
    pub(super) fn kill(&self) {
        self.signal(super::supervisor::KILL, Signal::KILL);
    }

    /// Leaves the tree to its supervisor, which ends it step by step even after this process has
    /// exited, and stops all signals. Returns false if there is no supervisor.
    pub(super) fn leave(&self) -> bool {
        let Some(Root::Supervisor(_)) = self.root else {
            return false;
        };
        self.signal(super::supervisor::LEAVE, super::supervisor::LEAVE);
        // Otherwise dropping the connection would kill the server that the supervisor lets exit in order.
        self.is_gone.store(true, Ordering::Release);
        true
    }

    /// Stops all signals: the child was waited for, and the system may reuse its process id.
    pub(super) fn has_exited(&self) {
        // The group may have members left after its leader; a supervisor exits only when nothing is left
        // below it.
        if let Some(Root::Group(_)) = self.root {
            self.kill();
        }
        self.is_gone.store(true, Ordering::Release);
    }

    /// True if the process id may be that of another process by now, or the tree was left to its supervisor.
    pub(super) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Acquire)
    }

    fn signal(&self, to_supervisor: Signal, to_group: Signal) {
        if self.is_gone() {
            return;
        }
        // A process that cannot be signalled has exited already.
        let _ = match self.root {
            Some(Root::Supervisor(pid)) => kill_process(pid, to_supervisor),
            Some(Root::Group(pid)) => kill_process_group(pid, to_group),
            None => Ok(()),
        };
    }
}

/// Elsewhere only the child itself can be ended: the runtime kills it when it is dropped.
#[cfg(not(unix))]
#[derive(Debug)]
pub(super) struct ProcessTree;

#[cfg(not(unix))]
impl ProcessTree {
    pub(super) fn new(_id: Option<u32>, _supervised: bool) -> Self {
        Self
    }
    pub(super) fn terminate(&self) {}
    pub(super) fn kill(&self) {}
    pub(super) fn leave(&self) -> bool {
        false
    }
    pub(super) fn has_exited(&self) {}
    pub(super) fn is_gone(&self) -> bool {
        false
    }
}
