//! Commands of the binary beside other command-line clients.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::process::Command;
use tokio::time::timeout;

use crate::peers::Node;
use crate::process::{HttpServer, cpu_time_of_children};
use crate::report::CommandTime;
use crate::variant::Variant;
use crate::workload::{Era, Transport};

/// Timeout of one command.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs of each command; the median counts.
const RUNS: usize = 5;

/// Measures `call` and `list` of the binary and of other command-line clients, on Callgate's server.
///
/// `home` is an empty directory, so that no configuration of the user counts.
pub async fn times(programs: &Path, node: Option<&Node>, home: &Path) -> Result<Vec<CommandTime>> {
    let server = Variant::Ours.server(Transport::Http, Era::Stateless, programs);
    let server = HttpServer::start(&server).await?;
    let url = server.url();
    let mut clients = vec![callgate(programs, &url)];
    if let Some(node) = node {
        clients.extend([inspector(node, &url), mcporter(node, &url)]);
    }
    let mut times = Vec::new();
    for command in ["call", "list"] {
        for client in &clients {
            let words = match command {
                "call" => &client.call,
                _ => &client.list,
            };
            let mut runs = Vec::new();
            for _ in 0..RUNS {
                runs.push(time(words, home).await?);
            }
            runs.sort_unstable();
            let (wall, cpu) = runs.get(RUNS / 2).copied().unwrap_or_default();
            eprintln!("{} {command}: {wall:?}", client.program);
            times.push(CommandTime {
                command,
                program: client.program,
                wall,
                cpu,
            });
        }
    }
    Ok(times)
}

struct CommandLine {
    program: &'static str,
    call: Vec<OsString>,
    list: Vec<OsString>,
}

fn callgate(programs: &Path, url: &str) -> CommandLine {
    let words = |rest: &[&str]| {
        let program = programs.join("callgate").into_os_string();
        std::iter::once(program)
            .chain(rest.iter().map(Into::into))
            .collect()
    };
    CommandLine {
        program: "callgate",
        call: words(&["call", url, "echo", "text=hello"]),
        list: words(&["list", url]),
    }
}

fn inspector(node: &Node, url: &str) -> CommandLine {
    let words = |rest: &[&str]| {
        let script = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";
        let start = ["--cli", url, "--protocol-era", "auto", "--method"];
        node.script(script, start.iter().chain(rest))
    };
    CommandLine {
        program: "MCP Inspector",
        call: words(&[
            "tools/call",
            "--tool-name",
            "echo",
            "--tool-arg",
            "text=hello",
        ]),
        list: words(&["tools/list"]),
    }
}

fn mcporter(node: &Node, url: &str) -> CommandLine {
    let words = |rest: &[&str]| node.script("mcporter/dist/cli.js", rest);
    CommandLine {
        program: "mcporter",
        call: words(&[
            "call",
            "--http-url",
            url,
            "--allow-http",
            "--name",
            "bench",
            "echo",
            "text=hello",
        ]),
        list: words(&["list", "--http-url", url, "--allow-http", "--name", "bench"]),
    }
}

impl Node {
    fn script<'a>(
        &self,
        script: &str,
        words: impl IntoIterator<Item = &'a &'a str>,
    ) -> Vec<OsString> {
        let script = self.modules.join(script).into_os_string();
        let mut command = vec![self.program.clone().into_os_string(), script];
        command.extend(words.into_iter().map(OsString::from));
        command
    }
}

/// Runs a command and returns its time and its processor time.
pub(crate) async fn time(words: &[OsString], home: &Path) -> Result<(Duration, Duration)> {
    let (program, arguments) = words.split_first().context("no command")?;
    let cpu = cpu_time_of_children()?;
    let start = Instant::now();
    let child = Command::new(program)
        .args(arguments)
        .env("HOME", home)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let output = timeout(LIMIT, child.wait_with_output())
        .await
        .context("the command does not end")??;
    let wall = start.elapsed();
    ensure!(
        output.status.success(),
        "{words:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok((wall, cpu_time_of_children()?.saturating_sub(cpu)))
}
