//! The measured server processes.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::load::{HttpLoad, Length, Outcome, StdioLoad};
use crate::workload::{HUB_SERVER, Transport, Workload};

/// Timeout of a run, long enough under valgrind too; a server that hangs must not hang the benchmark.
const RUN_LIMIT: Duration = Duration::from_secs(120);

/// Timeout of an exit, long enough for a server under valgrind to write its profile.
const EXIT_LIMIT: Duration = Duration::from_secs(60);

/// A running server and the load generator connected to it.
///
/// The process ends when this is dropped.
pub struct Server {
    child: Child,
    load: Load,
}

/// Memory of a process, in KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Peak resident memory.
    pub peak: u64,
    /// Resident memory that is not part of a file: heap, stacks and data that was written to.
    pub anonymous: u64,
}

enum Load {
    Http(HttpLoad),
    Stdio(StdioLoad),
}

impl Server {
    /// Starts `command` and connects to it as `workload` says.
    pub async fn start(command: &[OsString], workload: &Workload) -> Result<Self> {
        let Workload {
            transport,
            era,
            shape,
            concurrency,
        } = *workload;
        let mut child = spawn(command)?;
        let load = match transport {
            Transport::Http | Transport::Hub => {
                let address = address(&mut child).await?;
                let tool = match transport {
                    Transport::Hub => format!("{HUB_SERVER}_{}", shape.tool()),
                    _ => shape.tool().to_owned(),
                };
                Load::Http(HttpLoad::connect(address, concurrency, era, shape, &tool).await?)
            }
            Transport::Stdio => {
                let stdin = child.stdin.take().context("standard input is piped")?;
                let stdout = child.stdout.take().context("standard output is piped")?;
                Load::Stdio(StdioLoad::connect(stdin, stdout, concurrency, era, shape).await?)
            }
        };
        Ok(Self { child, load })
    }

    /// Sends requests for the given length.
    pub async fn run(&mut self, length: Length) -> Result<Outcome> {
        let run = async {
            match &mut self.load {
                Load::Http(load) => load.run(length).await,
                Load::Stdio(load) => load.run(length).await,
            }
        };
        timeout(RUN_LIMIT, run)
            .await
            .context("the server stopped answering")?
    }

    /// Returns the processor time that the server has used, in user and kernel mode.
    pub fn cpu_time(&self) -> Result<Duration> {
        cpu_time_of(&self.child)
    }

    /// Returns the current and peak memory of the server.
    pub fn memory(&self) -> Result<Memory> {
        Memory::of(&self.child)
    }

    /// Closes the server's input and waits until it has ended.
    pub async fn stop(self) -> Result<()> {
        let Self { mut child, load } = self;
        drop(load);
        drop(child.stdin.take());
        wait(child).await
    }
}

/// An HTTP server without a load generator, which ends when this is dropped.
pub struct HttpServer {
    child: Child,
    /// Address on which it listens.
    pub address: SocketAddr,
}

impl HttpServer {
    /// Starts `command`.
    pub async fn start(command: &[OsString]) -> Result<Self> {
        let mut child = spawn(command)?;
        let address = address(&mut child).await?;
        Ok(Self { child, address })
    }

    /// Returns the URL of the endpoint.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Returns the current and peak memory of the server.
    pub fn memory(&self) -> Result<Memory> {
        Memory::of(&self.child)
    }
}

/// Runs a command that ends by itself, and returns its standard output.
pub async fn finish(command: &[OsString]) -> Result<String> {
    let mut child = spawn(command)?;
    drop(child.stdin.take());
    let mut stdout = child.stdout.take().context("standard output is piped")?;
    let mut output = String::new();
    timeout(RUN_LIMIT, stdout.read_to_string(&mut output))
        .await
        .context("the program does not end")??;
    wait(child).await?;
    Ok(output)
}

fn spawn(command: &[OsString]) -> Result<Child> {
    let (program, arguments) = command.split_first().context("no command to start")?;
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))
}

async fn address(child: &mut Child) -> Result<SocketAddr> {
    let stdout = child.stdout.take().context("standard output is piped")?;
    let mut address = String::new();
    BufReader::new(stdout).read_line(&mut address).await?;
    let address = address.trim().parse();
    address.context("the server did not say where it listens")
}

async fn wait(mut child: Child) -> Result<()> {
    let status = timeout(EXIT_LIMIT, child.wait())
        .await
        .context("the program does not end")??;
    ensure!(status.success(), "the program ended with {status}");
    Ok(())
}

fn proc_file(child: &Child, name: &str) -> Result<String> {
    let pid = child.id().context("the server has ended")?;
    Ok(std::fs::read_to_string(format!("/proc/{pid}/{name}"))?)
}

/// Returns the processor time that a process has used, in user and kernel mode.
pub(crate) fn cpu_time_of(child: &Child) -> Result<Duration> {
    let stat = proc_file(child, "stat")?;
    cpu_time(&stat, OWN, rustix::param::clock_ticks_per_second())
        .with_context(|| format!("unexpected process status: {stat}"))
}

/// Returns the processor time of all processes that this one has started and waited for.
pub fn cpu_time_of_children() -> Result<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    cpu_time(&stat, CHILDREN, rustix::param::clock_ticks_per_second())
        .with_context(|| format!("unexpected process status: {stat}"))
}

/// Position of the processor time of a process behind its name.
const OWN: usize = 11;

/// Position of the processor time of the children of a process behind its name.
const CHILDREN: usize = 13;

fn cpu_time(stat: &str, position: usize, ticks_per_second: u64) -> Option<Duration> {
    // The second field is the program's name in parentheses and may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let times = fields.split_whitespace().skip(position);
    let mut times = times.map(str::parse::<u64>);
    let ticks = times.next()?.ok()? + times.next()?.ok()?;
    Some(Duration::from_secs_f64(
        ticks as f64 / ticks_per_second as f64,
    ))
}

impl Memory {
    pub(crate) fn of(child: &Child) -> Result<Self> {
        let status = proc_file(child, "status")?;
        Self::read(&status).with_context(|| format!("unexpected process status: {status}"))
    }

    fn read(status: &str) -> Option<Self> {
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().strip_suffix(" kB")?.parse().ok()
        };
        Some(Self {
            peak: field("VmHWM:")?,
            anonymous: field("RssAnon:")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_user_plus_kernel() {
        let stat = "4242 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 50 300 100 20 0 3 0 99";
        assert_eq!(cpu_time(stat, OWN, 100), Some(Duration::from_secs(2)));
        assert_eq!(cpu_time(stat, CHILDREN, 100), Some(Duration::from_secs(4)));
        assert_eq!(cpu_time("4242 (a) S 1", OWN, 100), None);
    }

    #[test]
    fn memory_is_the_high_water_mark_and_the_anonymous_part() {
        let status = "VmPeak:\t  9000 kB\nVmHWM:\t    5648 kB\nRssAnon:\t     620 kB\n";
        let memory = Memory {
            peak: 5648,
            anonymous: 620,
        };
        assert_eq!(Memory::read(status), Some(memory));
        assert_eq!(Memory::read("VmHWM:\t    5648 kB\n"), None);
    }
}
