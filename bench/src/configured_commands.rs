//! Commands on servers of a configuration file, beside mcporter.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::command_line::time;
use crate::peers::Node;
use crate::report::CommandTime;
use crate::running_servers::{self, RunningGateway};
use crate::smallest_client::{self, ToolCall};
use crate::variant::Variant;

/// Runs of each command, in which the programs take turns; the median counts.
const RUNS: usize = 9;

/// Figures of the command line.
#[derive(Debug, Clone)]
pub struct CommandFigures {
    /// Times of the commands.
    pub times: Vec<CommandTime>,
    /// Time of `callgate --help`.
    pub help: Duration,
    /// Size of the stripped binary in bytes; `None` where `strip` cannot run.
    pub binary: Option<u64>,
}

/// Call of a server that starts at once, so that the client's own time counts.
pub const CALL_NATIVE: &str = "`call`, server in Rust";

/// Call of a server on Node.js.
pub const CALL_NODE: &str = "`call`, server on Node.js";

/// List of the configured servers; Callgate knows their tools from an earlier run.
pub const LIST: &str = "`list`";

/// Call of a server on Node.js that runs already.
pub const CALL_RUNNING: &str = "`call`, server on Node.js that runs";

/// Row of the smallest client.
pub const ALONE: &str = "the server alone";

/// Measures the commands. `directory` is removed first.
pub async fn measure(programs: &Path, node: &Node, directory: &Path) -> Result<CommandFigures> {
    if directory.exists() {
        std::fs::remove_dir_all(directory)?;
    }
    std::fs::create_dir_all(directory)?;
    let setup = Setup::new(programs, node, directory)?;
    let binary = stripped_size(&setup.callgate, directory).await.ok();
    let mut times = Vec::new();
    for (name, contestants) in [
        (CALL_NATIVE, setup.calls(&setup.native, "native", "text")),
        (
            CALL_NODE,
            setup.calls(&setup.everything, "everything", "message"),
        ),
    ] {
        times.extend(in_turns(name, &contestants, directory).await?);
    }
    times.extend(running(&setup, directory).await?);
    let list = [
        ("callgate", setup.callgate(&["list"])),
        ("mcporter", setup.mcporter("servers.json", &["list"])),
    ];
    times.extend(in_turns(LIST, &list, directory).await?);
    let help = [("callgate", setup.callgate(&["--help"]))];
    let help = in_turns("`--help`", &help, directory).await?;
    let help = help.first().map(|time| time.wall).unwrap_or_default();
    Ok(CommandFigures {
        times,
        help,
        binary,
    })
}

/// Measures calls of a server that runs behind `callgate serve` and behind the daemon of mcporter.
async fn running(setup: &Setup, directory: &Path) -> Result<Vec<CommandTime>> {
    let serve = [
        "serve",
        "--no-auth",
        "--no-workspace",
        "--listen",
        "127.0.0.1:0",
    ];
    let gateway = RunningGateway::start(&setup.callgate_words(&serve), directory).await?;
    let daemon = |word| setup.mcporter_words(KEPT, &["daemon", word]);
    running_servers::control(&daemon("start"), directory).await?;
    let call = |name| ["call", name, "message=hello"];
    let contestants = [
        ("callgate", setup.callgate(&call("everything/echo"))),
        ("mcporter", setup.mcporter(KEPT, &call("everything.echo"))),
    ];
    let times = in_turns(CALL_RUNNING, &contestants, directory).await;
    // Also after a failure: it would run for ever.
    running_servers::control(&daemon("stop"), directory).await?;
    drop(gateway);
    times
}

/// Configuration in which the daemon of mcporter keeps the server on Node.js.
const KEPT: &str = "servers-kept.json";

/// Programs, and the configurations in a directory.
struct Setup {
    callgate: PathBuf,
    node: Node,
    directory: PathBuf,
    native: Vec<OsString>,
    everything: Vec<OsString>,
}

/// One way to make the same call.
enum Contestant {
    Command(Vec<OsString>),
    Alone(Vec<OsString>, ToolCall),
}

impl Setup {
    fn new(programs: &Path, node: &Node, directory: &Path) -> Result<Self> {
        let script = "@modelcontextprotocol/server-everything/dist/index.js";
        let setup = Self {
            callgate: programs.join("callgate"),
            node: node.clone(),
            directory: directory.to_owned(),
            native: vec![Variant::Ours.program("stdio", programs)],
            everything: vec![
                node.program.clone().into(),
                node.modules.join(script).into(),
                "stdio".into(),
            ],
        };
        let mut servers = json!({
            "native": entry(&setup.native),
            "everything": entry(&setup.everything),
        });
        let write = |name, servers: &Value| {
            let text = json!({"mcpServers": servers}).to_string();
            std::fs::write(directory.join(name), text)
        };
        write("servers.json", &servers)?;
        for server in servers.as_object_mut().into_iter().flatten() {
            server.1["lifecycle"] = match &**server.0 {
                "everything" => json!("keep-alive"),
                _ => json!("ephemeral"),
            };
        }
        write(KEPT, &servers)?;
        Ok(setup)
    }

    /// The ways to call the tool `echo` of a server, which takes one text.
    fn calls(
        &self,
        command: &[OsString],
        server: &str,
        argument: &str,
    ) -> [(&'static str, Contestant); 3] {
        let text = format!("{argument}=hello");
        let call = ToolCall {
            tool: "echo",
            arguments: json!({argument: "hello"}),
        };
        let ours = format!("{server}/echo");
        let theirs = format!("{server}.echo");
        [
            (ALONE, Contestant::Alone(command.to_vec(), call)),
            ("callgate", self.callgate(&["call", &ours, &text])),
            (
                "mcporter",
                self.mcporter("servers.json", &["call", &theirs, &text]),
            ),
        ]
    }

    fn callgate(&self, words: &[&str]) -> Contestant {
        Contestant::Command(self.callgate_words(words))
    }

    fn callgate_words(&self, words: &[&str]) -> Vec<OsString> {
        let configuration = self.directory.join("servers.json");
        let mut command: Vec<OsString> = vec![self.callgate.clone().into()];
        command.extend(["--data-dir".into(), self.directory.clone().into()]);
        command.extend(["--config".into(), configuration.into()]);
        command.extend(words.iter().map(OsString::from));
        command
    }

    fn mcporter(&self, configuration: &str, words: &[&str]) -> Contestant {
        Contestant::Command(self.mcporter_words(configuration, words))
    }

    fn mcporter_words(&self, configuration: &str, words: &[&str]) -> Vec<OsString> {
        let script = self.node.modules.join("mcporter/dist/cli.js");
        let configuration = self.directory.join(configuration);
        let mut command: Vec<OsString> = vec![self.node.program.clone().into(), script.into()];
        command.extend(["--config".into(), configuration.into()]);
        command.extend(words.iter().map(OsString::from));
        command
    }
}

impl Contestant {
    async fn time(&self, home: &Path) -> Result<(Duration, Duration)> {
        match self {
            Self::Command(words) => time(words, home).await,
            Self::Alone(command, call) => smallest_client::time(command, call).await,
        }
    }
}

fn entry(command: &[OsString]) -> Value {
    let mut words = command.iter().map(|word| word.to_string_lossy());
    let program = words.next().unwrap_or_default();
    json!({"command": program, "args": words.collect::<Vec<_>>()})
}

/// Times the commands in turns, after one run of each that does not count.
async fn in_turns<const N: usize>(
    command: &'static str,
    contestants: &[(&'static str, Contestant); N],
    home: &Path,
) -> Result<Vec<CommandTime>> {
    let mut runs = vec![Vec::new(); N];
    for (_, contestant) in contestants {
        contestant.time(home).await?;
    }
    for _ in 0..RUNS {
        for ((_, contestant), runs) in contestants.iter().zip(&mut runs) {
            runs.push(contestant.time(home).await?);
        }
    }
    let medians = contestants
        .iter()
        .zip(&mut runs)
        .map(|((program, _), runs)| {
            runs.sort_unstable();
            let (wall, cpu) = runs.get(RUNS / 2).copied().unwrap_or_default();
            eprintln!("{program} {command}: {wall:?}");
            CommandTime {
                command,
                program,
                wall,
                cpu,
            }
        });
    Ok(medians.collect())
}

async fn stripped_size(program: &Path, directory: &Path) -> Result<u64> {
    let stripped = directory.join("callgate-stripped");
    let mut strip = tokio::process::Command::new("strip");
    let status = strip.arg("-o").arg(&stripped).arg(program).status().await?;
    ensure!(status.success(), "strip failed");
    Ok(std::fs::metadata(stripped)?.len())
}
