use std::path::Path;

use anyhow::Result;

use super::client::Client;
use super::page::Row;
use super::program::Server;

const CONNECTIONS: usize = 512;

/// Opens silent connections, and asks as a client of the same address.
pub(super) fn run(program: &Path) -> Result<Row> {
    let server = Server::start(program, &[])?;
    let silent: Result<Vec<_>> = (0..CONNECTIONS).map(|_| Client::connect(&server)).collect();
    let silent = silent?;
    let mut client = Client::connect(&server)?;
    // A server that has closed the connection already may refuse the request.
    let sent = client.send(&server, "tools/list", r#""a":1"#);
    let answer = match sent.and_then(|()| client.head()) {
        Ok(Some(head)) => format!("answered with {}", head.status),
        _ => "reset without an answer".to_owned(),
    };
    drop(silent);
    Ok(Row {
        attack: "512 connections of one address send nothing, and a client of that address sends a request",
        before: "answered with 503",
        outcome: answer,
    })
}
