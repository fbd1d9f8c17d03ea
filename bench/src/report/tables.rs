//! Tables of the page.

use super::Figures;
use super::figures::CostLevel;
use super::markdown::{Table, grouped, ratio};
use crate::variant::Variant;
use crate::workload::{Era, Shape, Transport};

/// Costs of one request at a server.
pub(super) fn servers(figures: &Figures) -> String {
    let mut text = "## Cost of one request at a server\n".to_owned();
    for transport in Transport::ALL {
        for era in Era::ALL {
            let levels = figures.servers.iter().filter(|level| {
                let workload = level.workload;
                (workload.transport, workload.era) == (transport, era)
            });
            let table = costs(levels);
            text += &format!("\n### {transport}, {era}\n\n{table}");
        }
    }
    text + "\n### Allocations\n\n" + &allocations(figures).to_string()
}

fn allocations(figures: &Figures) -> Table {
    let columns = [
        "transport",
        "revision",
        "in flight",
        "server",
        "allocations",
        "bytes",
    ];
    let mut table = Table::new(&columns, 4);
    for level in &figures.servers {
        for variant in Variant::ALL {
            let Some(heap) = level.costs.get(variant).heap else {
                continue;
            };
            table.row(&[
                level.workload.transport.to_string(),
                level.workload.era.to_string(),
                level.workload.concurrency.to_string(),
                variant.to_string(),
                format!("{:.1}", heap.blocks),
                grouped(heap.bytes),
            ]);
        }
    }
    table
}

/// Costs of one request at a relay.
pub(super) fn relays(figures: &Figures) -> String {
    let table = costs(figures.relays.iter());
    let mut text = format!("## Cost of one request at a relay\n\n{RELAY}\n{table}");
    for level in &figures.relays {
        if let Some(heap) = level.costs.ours.heap {
            let shape = level.workload.shape;
            text += &format!(
                "\nFor a {shape}, Callgate allocates {} bytes in {:.1} blocks: {} times the size of the result.\n",
                grouped(heap.bytes),
                heap.blocks,
                ratio(heap.bytes / shape.size() as f64),
            );
        }
    }
    text
}

/// Explanation of the relays.
const RELAY: &str = "\
An HTTP server with an HTTP client behind it, in revision 2026-07-28; the upstream is the floor.
Each relay gives the request an id of its own; Callgate's is its server in front of `upstream::Remote`, that of rmcp a handler that calls its client.
";

fn costs<'a>(levels: impl Iterator<Item = &'a CostLevel>) -> Table {
    let columns = [
        "payload",
        "in flight",
        "bare",
        "callgate",
        "rmcp",
        "callgate ÷ bare",
        "callgate ÷ rmcp",
    ];
    let mut table = Table::new(&columns, 2);
    for level in levels {
        let instructions = level.instructions();
        table.row(&[
            level.workload.shape.to_string(),
            level.workload.concurrency.to_string(),
            grouped(instructions.bare),
            grouped(instructions.ours),
            grouped(instructions.rmcp),
            ratio(instructions.to_bare()),
            ratio(instructions.to_rmcp()),
        ]);
    }
    table
}

/// Costs of one call of a client.
pub(super) fn clients(figures: &Figures) -> String {
    let columns = [
        "transport",
        "revision",
        "payload",
        "bare",
        "newest revision alone",
        "`Remote` or `Process`",
        "rmcp",
        "÷ bare",
        "÷ newest alone",
        "÷ rmcp",
    ];
    let mut table = Table::new(&columns, 3);
    for level in &figures.clients {
        let instructions = &level.instructions;
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        table.row(&[
            level.transport.to_string(),
            level.era.to_string(),
            level.shape.to_string(),
            grouped(instructions.bare),
            or_none(level.modern.map(grouped)),
            grouped(instructions.ours),
            grouped(instructions.rmcp),
            ratio(instructions.to_bare()),
            or_none(level.modern.map(|modern| ratio(instructions.ours / modern))),
            ratio(instructions.to_rmcp()),
        ]);
    }
    format!("## Cost of one call of a client\n\n{CLIENTS}\n{table}")
}

/// Explanation of the clients.
const CLIENTS: &str = "\
A typed client calls a tool of the floor, one call at a time.
`Remote` and `Process` find out which revision the server speaks; `ModernHttpClient` and `ModernChild` speak the newest one alone.
The client of rmcp uses `reqwest` over HTTP, and the pipes of a process over stdio.
";

/// Throughput, latency, processor time and memory under load.
pub(super) fn under_load(figures: &Figures) -> String {
    let mut text = String::new();
    for transport in Transport::ALL {
        let columns = [
            "revision",
            "payload",
            "in flight",
            "server",
            "requests/s",
            "p50 µs",
            "p99 µs",
            "CPU µs/request",
            "peak KiB",
            "anonymous KiB",
        ];
        let mut samples = Table::new(&columns, 4);
        let columns = [
            "revision",
            "payload",
            "in flight",
            "requests/s ÷ bare",
            "requests/s ÷ rmcp",
            "bare's requests/s ÷ rmcp",
            "CPU ÷ bare",
            "CPU ÷ rmcp",
            "peak ÷ rmcp",
        ];
        let mut ratios = Table::new(&columns, 3);
        let levels = figures.loads.iter();
        for level in levels.filter(|level| level.workload.transport == transport) {
            let workload = level.workload;
            let name = || {
                let shape = match workload.shape {
                    Shape::Echo => "32 B".to_owned(),
                    shape => shape.to_string(),
                };
                let concurrency = workload.concurrency.to_string();
                vec![workload.era.to_string(), shape, concurrency]
            };
            for variant in Variant::ALL {
                let sample = level.samples.get(variant);
                let mut cells = name();
                cells.extend([
                    variant.to_string(),
                    grouped(sample.requests_per_second),
                    format!("{:.1}", sample.p50),
                    format!("{:.1}", sample.p99),
                    format!("{:.1}", sample.cpu),
                    grouped(sample.memory),
                    grouped(sample.anonymous),
                ]);
                samples.row(&cells);
            }
            let throughput = level.samples.map(|sample| sample.requests_per_second);
            let cpu = level.samples.map(|sample| sample.cpu);
            let mut cells = name();
            cells.extend(
                [
                    throughput.to_bare(),
                    throughput.to_rmcp(),
                    throughput.bare / throughput.rmcp,
                    cpu.to_bare(),
                    cpu.to_rmcp(),
                    level.samples.map(|sample| sample.memory).to_rmcp(),
                ]
                .map(ratio),
            );
            ratios.row(&cells);
        }
        text += &format!("## {transport} under load\n\n{samples}\n{ratios}\n");
    }
    text.trim_end().to_owned() + "\n"
}

/// Memory of open sessions and streams.
pub(super) fn held(figures: &Figures) -> String {
    let columns = [
        "open",
        "server",
        "KiB for each",
        "peak KiB",
        "for each ÷ rmcp",
    ];
    let mut table = Table::new(&columns, 2);
    for held in &figures.held {
        for variant in Variant::ALL {
            let each = held.each.get(variant);
            table.row(&[
                held.what.to_owned(),
                variant.to_string(),
                format!("{each:.1}"),
                grouped(*held.peak.get(variant)),
                ratio(each / held.each.rmcp),
            ]);
        }
    }
    format!("## Memory\n\n{HELD}\n{table}")
}

/// Explanation of the memory of open sessions and streams.
const HELD: &str = "\
Growth of the anonymous memory while 1,000 sessions or streams are open.
Each session has answered one call; all sessions share one connection, and each stream has one of its own.
The floor remembers nothing of a session but its number.
";

/// Times of commands.
pub(super) fn commands(figures: &Figures) -> String {
    let mut table = Table::new(&["command", "program", "ms", "CPU ms"], 2);
    for time in &figures.commands {
        let millis = |time: std::time::Duration| format!("{:.1}", time.as_secs_f64() * 1e3);
        table.row(&[
            time.command.to_owned(),
            time.program.to_owned(),
            millis(time.wall),
            millis(time.cpu),
        ]);
    }
    format!("## Command line\n\n{COMMANDS}\n{table}")
}

/// Explanation of the times of commands.
const COMMANDS: &str = "\
Time from start to exit of one command that calls or lists the tools of Callgate's HTTP server, the median of 5 runs.
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example::figures;

    #[test]
    fn figures_under_load_are_listed_by_server_and_compared() {
        let page = under_load(&figures());
        let expected = "\
## HTTP under load

| revision | payload | in flight | server | requests/s | p50 µs | p99 µs | CPU µs/request | peak KiB | anonymous KiB |
| --- | --- | --- | --- | --: | --: | --: | --: | --: | --: |
| 2026-07-28 | 32 B | 64 | bare | 80,000 | 20.0 | 90.2 | 12.5 | 4,000 | 600 |
| 2026-07-28 | 32 B | 64 | callgate | 60,000 | 20.0 | 90.2 | 12.5 | 5,000 | 600 |
| 2026-07-28 | 32 B | 64 | rmcp | 15,000 | 20.0 | 90.2 | 12.5 | 10,000 | 600 |

| revision | payload | in flight | requests/s ÷ bare | requests/s ÷ rmcp | bare's requests/s ÷ rmcp | CPU ÷ bare | CPU ÷ rmcp | peak ÷ rmcp |
| --- | --- | --- | --: | --: | --: | --: | --: | --: |
| 2026-07-28 | 32 B | 64 | 0.75 | 4.00 | 5.33 | 1.00 | 1.00 | 0.50 |

## stdio under load
";
        assert_eq!(page.get(..expected.len()), Some(expected));
    }

    #[test]
    fn costs_are_listed_by_transport_and_revision() {
        let page = servers(&figures());
        let expected = "\
## Cost of one request at a server

### HTTP, 2026-07-28

| payload | in flight | bare | callgate | rmcp | callgate ÷ bare | callgate ÷ rmcp |
| --- | --- | --: | --: | --: | --: | --: |
| 32 B both ways | 1 | 30,000 | 45,000 | 180,000 | 1.50 | 0.25 |

### HTTP, 2025-11-25

| payload | in flight | bare | callgate | rmcp | callgate ÷ bare | callgate ÷ rmcp |
| --- | --- | --: | --: | --: | --: | --: |
| 100 KB result | 1 | 30,000 | 45,000 | 180,000 | 1.50 | 0.25 |
";
        assert_eq!(page.get(..expected.len()), Some(expected));
    }

    #[test]
    fn clients_memory_and_commands_have_a_row_each() {
        let figures = figures();
        for (page, row) in [
            (
                clients(&figures),
                "| HTTP | 2026-07-28 | 32 B both ways | 50,000 | 80,000 | 100,000 | 200,000 | 2.00 | 1.25 | 0.50 |",
            ),
            (
                held(&figures),
                "| 1,000 sessions | callgate | 2.0 | 6,000 | 0.50 |",
            ),
            (commands(&figures), "| call | mcporter | 500.0 | 250.0 |"),
            (
                relays(&figures),
                "Callgate allocates 153,600 bytes in 14.0 blocks: 1.50 times the size of the result.",
            ),
        ] {
            assert!(page.contains(row), "{page}");
        }
    }
}
