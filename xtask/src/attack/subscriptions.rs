use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::client::Client;
use super::page::Row;
use super::program::Server;

const STREAMS: usize = 10_000;

/// Time for which the idle server is measured: two rounds of keep-alive comments.
const IDLE: Duration = Duration::from_secs(30);

/// Opens subscriptions and measures the idle server.
pub(super) fn run(program: &Path) -> Result<Row> {
    let limits = [
        ("--max-connections-per-address", "11000"),
        ("--max-connections", "12000"),
        ("--max-subscriptions", "10000"),
    ];
    let server = Server::start(program, &limits)?;
    let mut streams = Vec::new();
    let params = r#""notifications":{"toolsListChanged":true}"#;
    for _ in 0..STREAMS {
        let mut client = Client::connect(&server)?;
        client.send(&server, "subscriptions/listen", params)?;
        if client.head()?.is_none_or(|head| head.status != 200) {
            break;
        }
        streams.push(client);
    }
    let before = server.usage()?.cpu;
    std::thread::sleep(IDLE);
    let usage = server.usage()?;
    let percent = (usage.cpu - before).as_secs_f64() / IDLE.as_secs_f64() * 100.0;
    Ok(Row {
        attack: "10,000 `subscriptions/listen` streams of one address, idle for 30 s: memory and processor time of `serve`",
        before: "512 streams: 38 MiB, 0.3 % of a core",
        outcome: format!(
            "{} streams: {} MiB, {percent:.1} % of a core",
            streams.len(),
            usage.memory
        ),
    })
}
