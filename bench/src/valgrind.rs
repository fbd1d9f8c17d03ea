//! Deterministic costs: instructions and allocations, counted by valgrind.
//!
//! The programs are the ones whose throughput is measured, with nothing compiled in for counting.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::load::Length;
use crate::process::{Server, finish};
use crate::statistics::RunLengths;
use crate::workload::{Shape, Workload};

/// Cost of one request at a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Instructions in user mode.
    pub instructions: f64,
    /// Allocations, if they were counted.
    pub heap: Option<Heap>,
}

/// Allocations of one request at a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heap {
    /// Blocks allocated on the heap; a block that grows counts again.
    pub blocks: f64,
    /// Bytes allocated on the heap; a block that grows counts again in full.
    pub bytes: f64,
}

/// Returns the lengths of the two runs whose difference is reported: shorter for large messages,
/// whose cost varies less.
#[must_use]
pub fn lengths(shape: Shape) -> RunLengths {
    let (short, long) = match shape.size() {
        0..=2_000 => (100, 600),
        2_001..=20_000 => (40, 200),
        20_001..=200_000 => (10, 40),
        _ => (2, 6),
    };
    RunLengths { short, long }
}

/// Counter of the instructions and allocations of programs.
#[derive(Debug)]
pub struct Valgrind {
    version: String,
    profiles: PathBuf,
}

impl Valgrind {
    /// Finds valgrind and makes the directory `profiles`, where its profiles are left for reading
    /// with `callgrind_annotate`.
    pub fn find(profiles: PathBuf) -> Result<Self> {
        let output = Command::new("valgrind").arg("--version").output().context(
            "valgrind counts the instructions and allocations but cannot be run; \
             install it, for example with `apt-get install valgrind`",
        )?;
        std::fs::create_dir_all(&profiles)?;
        let version = String::from_utf8(output.stdout)?.trim().to_owned();
        Ok(Self { version, profiles })
    }

    /// Returns the name and version, as valgrind prints it.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Counts the cost of one request to the server that `command` starts.
    pub async fn server_cost(&self, command: &[OsString], workload: &Workload) -> Result<Cost> {
        let lengths = lengths(workload.shape);
        let instructions = async |requests| {
            let profile = self.serve("callgrind", command, workload, requests).await?;
            instructions_of(&profile)
        };
        let short = instructions(lengths.short).await?;
        let long = instructions(lengths.long).await?;
        Ok(Cost {
            instructions: lengths.per_request(short, long),
            heap: None,
        })
    }

    /// Counts the allocations of one request to the server that `command` starts.
    pub async fn server_heap(&self, command: &[OsString], workload: &Workload) -> Result<Heap> {
        let lengths = lengths(workload.shape);
        let totals = async |requests| {
            let profile = self.serve("dhat", command, workload, requests).await?;
            let log = std::fs::read_to_string(profile.with_extension("log"))?;
            heap(&log).with_context(|| format!("no totals in dhat's log: {log}"))
        };
        let short = totals(lengths.short).await?;
        let long = totals(lengths.long).await?;
        Ok(Heap {
            blocks: lengths.per_request(short.blocks, long.blocks),
            bytes: lengths.per_request(short.bytes, long.bytes),
        })
    }

    /// Counts the instructions of one call of a client. `command` takes the number of calls as its
    /// last argument, makes them and ends.
    pub async fn client_cost(&self, command: &[OsString], shape: Shape) -> Result<f64> {
        let lengths = lengths(shape);
        let instructions = async |calls: u64| {
            let mut command = command.to_vec();
            command.push(calls.to_string().into());
            let (command, profile) = self.command("callgrind", &command, &calls.to_string());
            finish(&command).await?;
            instructions_of(&profile)
        };
        let short = instructions(lengths.short).await?;
        let long = instructions(lengths.long).await?;
        Ok(lengths.per_request(short, long))
    }

    /// Runs a server under a tool of valgrind, and returns the profile.
    async fn serve(
        &self,
        tool: &str,
        command: &[OsString],
        workload: &Workload,
        requests: u64,
    ) -> Result<PathBuf> {
        let Workload {
            era,
            shape,
            concurrency,
            ..
        } = workload;
        let suffix = format!("{era}.{}.{concurrency}.{requests}", shape.argument());
        let (command, profile) = self.command(tool, command, &suffix);
        let mut server = Server::start(&command, workload).await?;
        let outcome = server.run(Length::Requests(requests)).await?;
        server.stop().await?;
        let answered = outcome.requests();
        ensure!(
            answered >= requests,
            "{answered} of {requests} requests were answered"
        );
        Ok(profile)
    }

    /// Returns the command under a tool of valgrind, and its profile.
    fn command(&self, tool: &str, command: &[OsString], suffix: &str) -> (Vec<OsString>, PathBuf) {
        let program = command.first().map(Path::new).and_then(Path::file_name);
        let program = program.unwrap_or_default().display();
        let profile = self.profiles.join(format!("{tool}.{program}.{suffix}.out"));
        let option = |name: &str, path: &Path| {
            let mut option = OsString::from(format!("--{name}="));
            option.push(path);
            option
        };
        let mut whole = vec![
            OsString::from("valgrind"),
            OsString::from(format!("--tool={tool}")),
            option(&format!("{tool}-out-file"), &profile),
            option("log-file", &profile.with_extension("log")),
        ];
        whole.extend_from_slice(command);
        (whole, profile)
    }
}

#[derive(Debug, PartialEq, Eq)]
struct HeapTotals {
    bytes: u64,
    blocks: u64,
}

fn instructions_of(profile: &Path) -> Result<u64> {
    let text = std::fs::read_to_string(profile)?;
    instructions(&text).with_context(|| format!("no totals in {}", profile.display()))
}

fn instructions(profile: &str) -> Option<u64> {
    let totals = profile
        .lines()
        .find_map(|line| line.strip_prefix("totals:"))?;
    totals.trim().parse().ok()
}

fn heap(log: &str) -> Option<HeapTotals> {
    let (_, total) = log.split_once("Total:")?;
    let mut words = total.split_whitespace();
    let bytes = number(words.next()?)?;
    let blocks = number(words.nth(2)?)?;
    Some(HeapTotals { bytes, blocks })
}

fn number(text: &str) -> Option<u64> {
    text.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read_from_a_callgrind_profile() {
        let profile = "# callgrind format\nevents: Ir\nfn=(1) main\n3 40\n\ntotals: 123456\n";
        assert_eq!(instructions(profile), Some(123_456));
        assert_eq!(instructions("# callgrind format\n"), None);
    }

    #[test]
    fn totals_are_read_from_a_dhat_log() {
        let log =
            "==7== \n==7== Total:     55,000 bytes in 1,010 blocks\n==7== At t-gmax: 1 bytes\n";
        assert_eq!(
            heap(log),
            Some(HeapTotals {
                bytes: 55_000,
                blocks: 1_010
            })
        );
        assert_eq!(heap("==7== nothing\n"), None);
    }
}
