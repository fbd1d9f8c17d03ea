use std::io::{BufRead, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::page::Row;

/// Lengths of the name: one that is printed, and one beyond the widths that the formatter of Rust has.
const LENGTHS: [usize; 2] = [60_000, 65_536];

/// Number of other tools, whose names are padded to the longest one.
const OTHERS: usize = 300;

/// Lets `program` list tools, one of which has a very long name.
pub(super) fn run(program: &Path) -> Result<Row> {
    let own = std::env::current_exe()?;
    let mut outcomes = Vec::new();
    for length in LENGTHS {
        let server = format!("{} long-name {length}", own.display());
        let listed = Command::new(program)
            .args(["list", "--stdio", &server])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .context("cannot start the client")?;
        let kilobytes = (listed.stdout.len() + 500) / 1000;
        outcomes.push(match listed.status.success() {
            true => format!("{kilobytes} KB"),
            false => format!("{kilobytes} KB and {}", listed.status),
        });
    }
    Ok(Row {
        attack: "A server has 300 tools and one with a name of 60,000, then of 65,536 characters: output of `list`",
        before: "18 MB; a panic",
        outcome: outcomes.join("; "),
    })
}

/// The server of the attack: its first tool has a name of `length` characters.
pub(crate) fn serve_long_name(length: usize) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let method = message.get("method").and_then(Value::as_str);
        let (member, outcome) = match method {
            Some("server/discover") => (
                "result",
                json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}),
            ),
            Some("tools/list") => {
                let tool = |name: &str| json!({"name": name, "description": "b", "inputSchema": {"type": "object"}});
                let mut tools = vec![tool(&"n".repeat(length))];
                tools.resize(1 + OTHERS, tool("a"));
                ("result", json!({"resultType": "complete", "tools": tools}))
            }
            _ => ("error", json!({"code": -32601, "message": "unknown"})),
        };
        let Some(id) = message.get("id") else {
            continue;
        };
        let response = json!({"jsonrpc": "2.0", "id": id, member: outcome});
        writeln!(stdout, "{response}")?;
        stdout.flush()?;
    }
    Ok(())
}
