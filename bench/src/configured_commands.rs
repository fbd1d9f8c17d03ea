//! Commands on servers of a configuration file, beside mcporter.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;

use crate::command_line::time;
use crate::peers::Node;
use crate::report::CommandTime;
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

/// Measures the commands. `directory` is removed first.
pub async fn measure(programs: &Path, node: &Node, directory: &Path) -> Result<CommandFigures> {
    if directory.exists() {
        std::fs::remove_dir_all(directory)?;
    }
    std::fs::create_dir_all(directory)?;
    let configuration = directory.join("servers.json");
    std::fs::write(&configuration, servers(programs, node).to_string())?;
    let callgate = programs.join("callgate");
    let binary = stripped_size(&callgate, directory).await.ok();
    let callgate = |words: &[&str]| {
        let options: [OsString; 4] = [
            "--data-dir".into(),
            directory.into(),
            "--config".into(),
            configuration.clone().into(),
        ];
        command([callgate.clone().into()], options, words)
    };
    let mcporter = |words: &[&str]| {
        let script = node.modules.join("mcporter/dist/cli.js");
        let options = ["--config".into(), configuration.clone().into()];
        command([node.program.clone().into(), script.into()], options, words)
    };
    let mut times = Vec::new();
    for (name, ours, theirs) in [
        (
            CALL_NATIVE,
            callgate(&["call", "native/echo", "text=hello"]),
            mcporter(&["call", "native.echo", "text=hello"]),
        ),
        (
            CALL_NODE,
            callgate(&["call", "everything/echo", "message=hello"]),
            mcporter(&["call", "everything.echo", "message=hello"]),
        ),
        (LIST, callgate(&["list"]), mcporter(&["list"])),
    ] {
        let programs = [("callgate", ours), ("mcporter", theirs)];
        times.extend(in_turns(name, programs, directory).await?);
    }
    let help = [("callgate", callgate(&["--help"]))];
    let help = in_turns("`--help`", help, directory).await?;
    let help = help.first().map(|time| time.wall).unwrap_or_default();
    Ok(CommandFigures {
        times,
        help,
        binary,
    })
}

fn servers(programs: &Path, node: &Node) -> serde_json::Value {
    let everything = "@modelcontextprotocol/server-everything/dist/index.js";
    let native = Variant::Ours.program("stdio", programs);
    json!({"mcpServers": {
        "native": {"command": native.to_string_lossy(), "args": []},
        "everything": {
            "command": node.program,
            "args": [node.modules.join(everything), "stdio"],
        },
    }})
}

fn command<const A: usize, const B: usize>(
    program: [OsString; A],
    options: [OsString; B],
    words: &[&str],
) -> Vec<OsString> {
    let words = words.iter().map(OsString::from);
    program.into_iter().chain(options).chain(words).collect()
}

/// Times the commands in turns, after one run of each that does not count.
async fn in_turns<const N: usize>(
    command: &'static str,
    programs: [(&'static str, Vec<OsString>); N],
    home: &Path,
) -> Result<Vec<CommandTime>> {
    let mut runs = vec![Vec::new(); N];
    for (_, words) in &programs {
        time(words, home).await?;
    }
    for _ in 0..RUNS {
        for ((_, words), runs) in programs.iter().zip(&mut runs) {
            runs.push(time(words, home).await?);
        }
    }
    let medians = programs.iter().zip(&mut runs).map(|((program, _), runs)| {
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
