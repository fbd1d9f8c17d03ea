//! Deterministic costs: instructions and allocations, counted by valgrind.
//!
//! The programs are the ones whose throughput is measured, with nothing compiled in for counting.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::load::Length;
use crate::process::Server;
use crate::statistics::RunLengths;
use crate::variant::Transport;

/// Cost of one request at a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Instructions in user mode.
    pub instructions: f64,
    /// Blocks allocated on the heap; a block that grows counts again.
    pub allocations: f64,
    /// Bytes allocated on the heap; a block that grows counts again in full.
    pub bytes: f64,
}

/// Lengths of the two runs whose difference is reported.
pub const LENGTHS: RunLengths = RunLengths {
    short: 200,
    long: 1200,
};

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

    /// Counts the cost of one request to the server that `command` starts, with `concurrency`
    /// requests in flight.
    pub async fn cost(
        &self,
        command: &[OsString],
        transport: Transport,
        concurrency: usize,
    ) -> Result<Cost> {
        let subject = Subject {
            profiles: &self.profiles,
            command,
            transport,
            concurrency,
        };
        let RunLengths { short, long } = LENGTHS;
        let instructions = (
            subject.instructions(short).await?,
            subject.instructions(long).await?,
        );
        let heap = (subject.heap(short).await?, subject.heap(long).await?);
        Ok(Cost {
            instructions: LENGTHS.per_request(instructions.0, instructions.1),
            allocations: LENGTHS.per_request(heap.0.blocks, heap.1.blocks),
            bytes: LENGTHS.per_request(heap.0.bytes, heap.1.bytes),
        })
    }
}

struct Subject<'a> {
    profiles: &'a Path,
    command: &'a [OsString],
    transport: Transport,
    concurrency: usize,
}

#[derive(Debug, PartialEq, Eq)]
struct Heap {
    bytes: u64,
    blocks: u64,
}

impl Subject<'_> {
    async fn instructions(&self, requests: u64) -> Result<u64> {
        let profile = self.file("callgrind", requests)?;
        self.run("callgrind", &profile, requests).await?;
        let text = std::fs::read_to_string(&profile)?;
        instructions(&text).with_context(|| format!("no totals in {}", profile.display()))
    }

    async fn heap(&self, requests: u64) -> Result<Heap> {
        let profile = self.file("dhat", requests)?;
        let log = self.run("dhat", &profile, requests).await?;
        heap(&log).with_context(|| format!("no totals in dhat's log: {log}"))
    }

    async fn run(&self, tool: &str, profile: &Path, requests: u64) -> Result<String> {
        let log = profile.with_extension("log");
        let option = |name: &str, path: &Path| {
            let mut option = OsString::from(format!("--{name}="));
            option.push(path);
            option
        };
        let mut command = vec![
            OsString::from("valgrind"),
            OsString::from(format!("--tool={tool}")),
            option(&format!("{tool}-out-file"), profile),
            option("log-file", &log),
        ];
        command.extend_from_slice(self.command);
        let mut server = Server::start(&command, self.transport, self.concurrency).await?;
        let outcome = server.run(Length::Requests(requests)).await?;
        server.stop().await?;
        let answered = outcome.requests();
        ensure!(
            answered >= requests,
            "{answered} of {requests} requests were answered"
        );
        Ok(std::fs::read_to_string(&log)?)
    }

    fn file(&self, tool: &str, requests: u64) -> Result<PathBuf> {
        let program = self
            .command
            .first()
            .map(Path::new)
            .and_then(Path::file_name);
        let program = program.context("no program to count")?.display();
        let concurrency = self.concurrency;
        Ok(self
            .profiles
            .join(format!("{tool}.{program}.{concurrency}.{requests}.out")))
    }
}

fn instructions(profile: &str) -> Option<u64> {
    let totals = profile
        .lines()
        .find_map(|line| line.strip_prefix("totals:"))?;
    totals.trim().parse().ok()
}

fn heap(log: &str) -> Option<Heap> {
    let (_, total) = log.split_once("Total:")?;
    let mut words = total.split_whitespace();
    let bytes = number(words.next()?)?;
    let blocks = number(words.nth(2)?)?;
    Some(Heap { bytes, blocks })
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
            Some(Heap {
                bytes: 55_000,
                blocks: 1_010
            })
        );
        assert_eq!(heap("==7== nothing\n"), None);
    }
}
