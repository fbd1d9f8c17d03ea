use std::io::{BufRead, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use super::page::Row;
use super::program::watch;

/// Time that the attack may take.
const LIMIT: Duration = Duration::from_secs(15);

/// Lets `program` list the tools of a server that floods it with pings and never reads the answers.
pub(super) fn run(program: &Path) -> Result<Row> {
    let own = std::env::current_exe()?;
    let server = format!("{} flood", own.display());
    let mut client = Command::new(program)
        .args(["list", "--stdio", &server])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start the client")?;
    let (peak, ended) = watch(&mut client, LIMIT)?;
    let reason = std::io::read_to_string(client.stderr.take().context("standard error is piped")?)?;
    let reason = reason.replace(&own.display().to_string(), "flood");
    let outcome = match (ended, reason.lines().next()) {
        (true, Some(reason)) => format!("{peak} MiB; {reason}"),
        _ => format!("{peak} MiB after {} s, and growing", LIMIT.as_secs()),
    };
    Ok(Row {
        attack: "An old server on stdio floods its client with `ping` and reads no answer, for 15 s: peak memory of the client",
        before: "194 MiB after 15 s, and growing",
        outcome,
    })
}

/// The server of the attack: it answers the handshake and then sends pings until its client leaves.
pub(crate) fn serve_flood() -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    let mut lines = std::io::stdin().lock().lines();
    loop {
        let line = lines.next().context("the client has left")??;
        let message: serde_json::Value = serde_json::from_str(&line)?;
        let id = message.get("id").cloned().unwrap_or_default();
        let method = message.get("method").and_then(|method| method.as_str());
        match method {
            Some("initialize") => {
                let result = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"a","version":"1"}}"#;
                writeln!(stdout, r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)?;
            }
            Some("notifications/initialized") => break,
            _ => writeln!(
                stdout,
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"unknown"}}}}"#
            )?,
        }
        stdout.flush()?;
    }
    let pings = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n".repeat(1000);
    // Ends when the client closes the pipe.
    while stdout.write_all(pings.as_bytes()).is_ok() {}
    Ok(())
}
