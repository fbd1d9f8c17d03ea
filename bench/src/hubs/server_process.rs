//! Processes of the configured servers, found by variables in their environment: only the hub that
//! started them knows their ids.

use std::collections::BTreeSet;

use anyhow::Result;
use rustix::process::{Pid, Signal, kill_process};

/// Variable with the name of the server.
const SERVER: &str = "CALLGATE_BENCH_SERVER";

/// Variable with the process id of the benchmark, so that two runs do not meet.
const RUN: &str = "CALLGATE_BENCH_RUN";

/// Returns the variables that mark the processes of a server.
pub(super) fn marks(server: &str) -> Vec<(&'static str, String)> {
    vec![
        (SERVER, server.to_owned()),
        (RUN, std::process::id().to_string()),
    ]
}

/// Kills the processes of a server, and returns their number.
pub(super) fn kill(server: &str) -> Result<usize> {
    kill_marked(&marks(server))
}

/// Kills the processes of all servers of this run.
pub(super) fn kill_all() -> Result<usize> {
    let run = marks("").split_off(1);
    kill_marked(&run)
}

fn kill_marked(marks: &[(&str, String)]) -> Result<usize> {
    let mut killed = BTreeSet::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|id| id.parse().ok()) else {
            continue;
        };
        // A process of another user cannot be read, and one that has ended has no environment.
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if has_all(&environment, marks)
            && let Some(process) = Pid::from_raw(id)
            && kill_process(process, Signal::KILL).is_ok()
        {
            killed.insert(id);
        }
    }
    Ok(killed.len())
}

fn has_all(environment: &[u8], marks: &[(&str, String)]) -> bool {
    marks.iter().all(|(name, value)| {
        let mark = format!("{name}={value}");
        environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == mark.as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_found_by_all_marks_in_full() {
        let environment = b"PATH=/bin\0CALLGATE_BENCH_RUN=7\0CALLGATE_BENCH_SERVER=time1\0";
        let check = |run: &str, server: &str, expected| {
            let marks = [(RUN, run.to_owned()), (SERVER, server.to_owned())];
            assert_eq!(has_all(environment, &marks), expected);
        };
        check("7", "time1", true);
        check("7", "time", false);
        check("71", "time1", false);
        assert!(!has_all(b"", &marks("time1")));
    }
}
