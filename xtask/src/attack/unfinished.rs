use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::client::{Client, Head};
use super::page::Row;
use super::program::Server;

/// More than one address may have, so that every slot is taken by a request that has begun.
const CONNECTIONS: usize = 700;

/// Time in which the server reads the beginnings of the requests.
const PAUSE: Duration = Duration::from_millis(500);

/// Leaves requests with the token unfinished; then another client of the same address asks, and once more
/// after the time that it is told.
pub(super) fn run(program: &Path) -> Result<Row> {
    let server = Server::start(program, &[])?;
    let mut unfinished = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut client = Client::connect(&server)?;
        // Connections beyond the limit are refused, or take the place of earlier ones.
        let _ = client.send_unfinished(&server);
        unfinished.push(client);
    }
    std::thread::sleep(PAUSE);
    let first = ask(&server)?;
    let wait = first.as_ref().and_then(|head| head.retry_after.as_deref());
    let wait = wait.unwrap_or("1").parse()?;
    std::thread::sleep(Duration::from_secs(wait));
    let again = ask(&server)?;
    drop(unfinished);
    Ok(Row {
        attack: "700 connections of one address with the token never finish the body of a request: statuses of another client of that address, and after a second",
        before: "503, 503 after 1 s",
        outcome: format!("{}, {} after {wait} s", status(first), status(again)),
    })
}

/// The answer to a request on a connection of its own, if there is one.
fn ask(server: &Server) -> Result<Option<Head>> {
    let mut client = Client::connect(server)?;
    // A server that has closed the connection already may refuse the request.
    match client.send(server, "tools/list", r#""a":1"#) {
        Ok(()) => client.head(),
        Err(_) => Ok(None),
    }
}

fn status(head: Option<Head>) -> String {
    head.map_or_else(|| "no answer".to_owned(), |head| head.status.to_string())
}
