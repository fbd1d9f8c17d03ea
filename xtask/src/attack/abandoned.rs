use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::client::{Client, Head};
use super::page::Row;
use super::program::Server;

/// More than the table of sessions has room for.
const SESSIONS: usize = 3_000;

/// Opens sessions of an older revision and abandons them; then another client opens one, and once more
/// after the time that it is told.
pub(super) fn run(program: &Path) -> Result<Row> {
    let server = Server::start(program, &[])?;
    let mut opened = 0;
    for _ in 0..SESSIONS {
        opened += usize::from(handshake(&server)?.status == 200);
    }
    let memory = server.usage()?.memory;
    let head = handshake(&server)?;
    let wait = head.retry_after.as_deref().unwrap_or("0").parse()?;
    std::thread::sleep(Duration::from_secs(wait));
    let again = handshake(&server)?.status;
    Ok(Row {
        attack: "3,000 handshakes of an older revision are abandoned: statuses of the next client, at once and after `Retry-After`",
        before: "429, 429 after 30 s; 1024 sessions opened, 33 MiB",
        outcome: format!(
            "{}, {again} after {wait} s; {opened} sessions opened, {memory} MiB",
            head.status
        ),
    })
}

/// Opens a session on a connection of its own.
fn handshake(server: &Server) -> Result<Head> {
    let mut client = Client::connect(server)?;
    client.send_handshake(server)?;
    client.head()?.context("the server closed the connection")
}
