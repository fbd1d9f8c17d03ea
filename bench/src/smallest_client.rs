//! The smallest client of a stdio server: the floor of the time of a call.

use std::ffi::OsString;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::process::cpu_time_of_children;

/// Timeout of the whole conversation.
const LIMIT: Duration = Duration::from_secs(60);

/// One call of a tool.
#[derive(Debug, Clone)]
pub(crate) struct ToolCall {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
}

/// Starts a server, calls a tool and kills the server as soon as it has answered. Returns the time
/// of that and the processor time.
///
/// Nothing is detected, checked or decoded: the client speaks a revision that the server knows.
pub(crate) async fn time(command: &[OsString], call: &ToolCall) -> Result<(Duration, Duration)> {
    let (program, arguments) = command.split_first().context("no command")?;
    let cpu = cpu_time_of_children()?;
    let start = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let stdin = child.stdin.take().context("standard input is piped")?;
    let stdout = child.stdout.take().context("standard output is piped")?;
    timeout(LIMIT, talk(stdin, BufReader::new(stdout), call))
        .await
        .context("the server does not answer")??;
    child.kill().await?;
    let wall = start.elapsed();
    Ok((wall, cpu_time_of_children()?.saturating_sub(cpu)))
}

async fn talk(
    mut stdin: ChildStdin,
    mut stdout: BufReader<ChildStdout>,
    call: &ToolCall,
) -> Result<()> {
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "smallest", "version": "1"},
    }});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": call.tool,
        "arguments": call.arguments,
    }});
    stdin
        .write_all(format!("{initialize}\n").as_bytes())
        .await?;
    answer(&mut stdout, 1).await?;
    let rest = format!("{initialized}\n{call}\n");
    stdin.write_all(rest.as_bytes()).await?;
    answer(&mut stdout, 2).await
}

/// Reads messages up to the answer to the request with this id.
async fn answer(stdout: &mut BufReader<ChildStdout>, id: u64) -> Result<()> {
    let mut line = String::new();
    loop {
        line.clear();
        let read = stdout.read_line(&mut line).await?;
        ensure!(read > 0, "the server ended without an answer");
        // Some servers print text that is no message.
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        if message.get("id") == Some(&json!(id)) && message.get("method").is_none() {
            ensure!(message.get("result").is_some(), "the call failed: {line}");
            return Ok(());
        }
    }
}
