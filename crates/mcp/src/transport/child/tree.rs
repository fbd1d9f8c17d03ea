#[cfg(unix)]
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// The processes of a child, for as long as they are there.
#[cfg(unix)]
#[derive(Debug)]
pub(super) struct Tree {
    root: Option<Root>,
    is_gone: AtomicBool,
}

/// Whom to signal to reach the processes.
#[cfg(unix)]
#[derive(Debug, Clone, Copy)]
enum Root {
    /// A supervisor, which passes it on.
    Supervisor(Pid),
    /// The process group of the child.
    Group(Pid),
}

#[cfg(unix)]
impl Tree {
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

    /// Asks the program to go.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM, Signal::TERM);
    }

    /// Ends everything now. Does not wait.
    pub(super) fn kill(&self) {
        self.signal(super::supervisor::KILL, Signal::KILL);
    }

    /// Says that the child has been waited for, so that its number may soon be another's.
    pub(super) fn has_exited(&self) {
        if let Some(Root::Group(_)) = self.root {
            self.kill();
        }
        self.is_gone.store(true, Ordering::Release);
    }

    fn signal(&self, to_supervisor: Signal, to_group: Signal) {
        if self.is_gone.load(Ordering::Acquire) {
            return;
        }
        // Whoever cannot be signalled is gone already.
        let _ = match self.root {
            Some(Root::Supervisor(pid)) => kill_process(pid, to_supervisor),
            Some(Root::Group(pid)) => kill_process_group(pid, to_group),
            None => Ok(()),
        };
    }
}

/// Nothing can be reached here but the child itself, which the runtime kills when it is dropped.
#[cfg(not(unix))]
#[derive(Debug)]
pub(super) struct Tree;

#[cfg(not(unix))]
impl Tree {
    pub(super) fn new(_id: Option<u32>, _supervised: bool) -> Self {
        Self
    }
    pub(super) fn terminate(&self) {}
    pub(super) fn kill(&self) {}
    pub(super) fn has_exited(&self) {}
}
