use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::client::Client;
use super::page::Row;
use super::program::Server;

const CONNECTIONS: usize = 200;

/// Bytes of the file that is read: as many as the tool reads at most.
const FILE: usize = 1024 * 1024;

/// Time in which the server may work on the requests.
const LIMIT: Duration = Duration::from_secs(30);

/// Asks for a large file on many connections, and reads no answer.
pub(super) fn run(program: &Path) -> Result<Row> {
    let server = Server::start(program, &[])?;
    // Each control character becomes six bytes of JSON, and twelve where JSON is quoted in JSON.
    std::fs::write(server.workspace().join("file"), vec![1; FILE])?;
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut client = Client::connect(&server)?;
        let params = r#""name":"workspace_read","arguments":{"path":"file"}"#;
        client.send(&server, "tools/call", params)?;
        clients.push(client);
    }
    let before = std::time::Instant::now();
    let (mut idle, mut cpu) = (0, server.usage()?.cpu);
    // Over when the server has done nothing for a second.
    while idle < 5 && before.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(200));
        let now = server.usage()?.cpu;
        idle = if now == cpu { idle + 1 } else { 0 };
        cpu = now;
    }
    let peak = server.usage()?.peak;
    let mut refused = 0;
    for client in &mut clients {
        let head = client.head()?;
        refused += usize::from(head.is_some_and(|head| head.status == 503));
    }
    Ok(Row {
        attack: "200 connections ask for a file of 1 MiB of control characters and read no answer: peak memory of `serve`",
        before: "674 MiB after 30 s, and growing",
        outcome: format!("{peak} MiB; {refused} of {CONNECTIONS} requests refused with 503"),
    })
}
