//! Memory and processor time of processes and of those that they started. Only Linux tells.

use std::collections::HashMap;

/// All processes of the machine at one time.
#[derive(Debug, Default)]
pub(crate) struct ProcessTable {
    processes: HashMap<u32, ProcessStat>,
}

/// Entry of the system about one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProcessStat {
    parent: u32,
    start_ticks: u64,
    cpu_ticks: u64,
    pages: u64,
    /// True if a signal has stopped the process.
    is_suspended: bool,
}

/// Use of the machine by a process with all processes below it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Number of processes.
    pub(crate) processes: usize,
    /// Resident memory in bytes; memory that they share counts for each.
    pub(crate) memory: u64,
    /// Processor time in hundredths of a second.
    pub(crate) cpu_ticks: u64,
}

/// Ticks of the kernel in a second, as user space sees them on every Linux.
pub(crate) const TICKS: u64 = 100;

/// Bytes of a page; some processors have larger ones, and there the memory shows too small.
const PAGE: u64 = 4096;

/// Maximum depth of a process tree that is followed.
const MAX_DEPTH: usize = 64;

impl ProcessTable {
    /// Reads the table; empty where the system has none.
    pub(crate) fn read() -> Self {
        let mut processes = HashMap::new();
        if !cfg!(target_os = "linux") {
            return Self::default();
        }
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let pid = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            if let Some((pid, stat)) = pid.and_then(|pid| Some((pid, stat(pid)?))) {
                processes.insert(pid, stat);
            }
        }
        Self { processes }
    }

    /// Use by a process and all below it; `None` if there is no such process.
    pub(crate) fn usage(&self, pid: u32) -> Option<Usage> {
        self.processes.get(&pid)?;
        let mut usage = Usage::default();
        for (found, stat) in &self.processes {
            if *found == pid || self.is_below(stat, pid) {
                usage.processes += 1;
                usage.memory += stat.pages * PAGE;
                usage.cpu_ticks += stat.cpu_ticks;
            }
        }
        Some(usage)
    }

    fn is_below(&self, stat: &ProcessStat, ancestor: u32) -> bool {
        let mut parent = stat.parent;
        for _ in 0..MAX_DEPTH {
            if parent == ancestor {
                return true;
            }
            match self.processes.get(&parent) {
                Some(stat) => parent = stat.parent,
                None => return false,
            }
        }
        false
    }
}

/// Start time of a process in ticks since the machine started; `None` if there is none, or the system does not tell.
pub(crate) fn start_ticks(pid: u32) -> Option<u64> {
    stat(pid).map(|stat| stat.start_ticks)
}

/// True if a signal has stopped the process; false where the system does not tell.
pub(super) fn is_suspended(pid: u32) -> bool {
    stat(pid).is_some_and(|stat| stat.is_suspended)
}

fn stat(pid: u32) -> Option<ProcessStat> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The fields of `/proc/PID/stat`. The name of the program may hold spaces and brackets, so it is passed over from
/// its last bracket.
fn parse(text: &str) -> Option<ProcessStat> {
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // A process that has ended and was not waited for is gone for our purposes.
    if matches!(fields.first(), Some(&"Z" | &"X")) {
        return None;
    }
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(ProcessStat {
        parent: u32::try_from(number(1)?).ok()?,
        cpu_ticks: number(11)? + number(12)?,
        start_ticks: number(19)?,
        pages: number(21)?,
        is_suspended: matches!(fields.first(), Some(&"T" | &"t")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_process_is_read_whatever_its_name_is() {
        let line = "42 (a) b (c) S 7 42 42 0 -1 4194560 100 0 0 0 5 6 0 0 20 0 1 0 9000 10000000 250 18446744073709551615 1 1";
        let expect = ProcessStat {
            parent: 7,
            start_ticks: 9000,
            cpu_ticks: 11,
            pages: 250,
            is_suspended: false,
        };
        assert_eq!(parse(line), Some(expect));
        let suspended = ProcessStat {
            is_suspended: true,
            ..expect
        };
        assert_eq!(parse(&line.replace(" S ", " T ")), Some(suspended));
        assert_eq!(parse(&line.replace(" S ", " Z ")), None);
        assert_eq!(parse("42 (a"), None);
    }

    #[test]
    fn a_process_is_counted_with_all_below_it() {
        let process = |parent| ProcessStat {
            parent,
            start_ticks: 1,
            cpu_ticks: 10,
            pages: 1,
            is_suspended: false,
        };
        let processes = [(1, 0), (2, 1), (3, 2), (4, 2), (9, 1)];
        let table = ProcessTable {
            processes: processes.map(|(pid, parent)| (pid, process(parent))).into(),
        };
        let expect = Usage {
            processes: 3,
            memory: 3 * PAGE,
            cpu_ticks: 30,
        };
        assert_eq!(table.usage(2), Some(expect));
        assert_eq!(table.usage(5), None);
    }
}
