use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::with_many_files;
use crate::background::Background;
use crate::process;

/// A server under attack, with a workspace and a token of its own.
pub(super) struct Server {
    running: Background,
    dir: PathBuf,
    pub(super) token: String,
}

impl Server {
    /// Starts `program serve` with `options`; those that the program does not have are left out.
    pub(super) fn start(program: &Path, options: &[(&str, &str)]) -> Result<Self> {
        let dir = std::env::temp_dir().join(format!("callgate-attack-{}", std::process::id()));
        fs::create_dir_all(dir.join("workspace"))?;
        let data_dir = dir.join("data");
        let help = process::capture(Command::new(program).args(["serve", "--help"]))?;
        let mut command = with_many_files(program);
        command.arg("--data-dir").arg(&data_dir);
        command.args(["serve", "--listen", "127.0.0.1:0", "--workspace"]);
        command.arg(dir.join("workspace"));
        for (option, value) in options {
            if help.contains(option) {
                command.args([option, value]);
            }
        }
        let running = Background::start(&mut command)?;
        let mut token = Command::new(program);
        token.arg("--data-dir").arg(&data_dir).arg("token");
        let token = process::capture(&mut token)?.trim().to_owned();
        Ok(Self {
            running,
            dir,
            token,
        })
    }

    /// Host and port.
    pub(super) fn address(&self) -> &str {
        self.running.url().split('/').nth(2).unwrap_or_default()
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.dir.join("workspace")
    }

    pub(super) fn usage(&self) -> Result<Usage> {
        Usage::of(self.running.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The directory is in the temporary one: what cannot be removed does no harm.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Memory and processor time of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usage {
    /// Resident memory now, in MiB.
    pub(super) memory: u64,
    /// Highest resident memory so far, in MiB.
    pub(super) peak: u64,
    /// Processor time so far.
    pub(super) cpu: Duration,
}

impl Usage {
    pub(super) fn of(process: u32) -> Result<Self> {
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
        Self::read(&status, &stat).context("unexpected contents of /proc")
    }

    fn read(status: &str, stat: &str) -> Option<Self> {
        let mebibytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
            Some(kibibytes.div_ceil(1024))
        };
        // The name of the program comes before, in parentheses, and may contain anything.
        let (_, after_name) = stat.rsplit_once(')')?;
        let mut times = after_name.split_whitespace().skip(11);
        let mut ticks = || times.next()?.parse::<u64>().ok();
        let ticks = ticks()? + ticks()?;
        Some(Self {
            memory: mebibytes("VmRSS:")?,
            peak: mebibytes("VmHWM:")?,
            cpu: Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND),
        })
    }
}

/// Unit of processor time in `/proc` on Linux.
const TICKS_PER_SECOND: u64 = 100;

/// Waits until `child` ends, or for `limit`; then it is killed. Returns the highest memory that was seen,
/// in MiB, and true if the process ended by itself.
pub(super) fn watch(child: &mut Child, limit: Duration) -> Result<(u64, bool)> {
    let deadline = Instant::now() + limit;
    let mut peak = 0;
    while Instant::now() < deadline {
        if child.try_wait()?.is_some() {
            return Ok((peak, true));
        }
        // A process that has just ended has no memory.
        peak = Usage::of(child.id()).map_or(peak, |usage| usage.peak.max(peak));
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill()?;
    child.wait()?;
    Ok((peak, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_read_from_the_files_of_the_kernel() {
        let status = "Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t  1025 kB\n";
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 1 0 0 0 150 50 0 0 20 0 1";
        let usage = Usage {
            memory: 2,
            peak: 2,
            cpu: Duration::from_secs(2),
        };
        assert_eq!(Usage::read(status, stat), Some(usage));
        assert_eq!(Usage::read("", stat), None);
    }
}
