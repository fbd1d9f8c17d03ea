//! Section about the hubs.

use std::time::Duration;

use super::markdown::{Table, grouped, ratio};
use super::verdicts::verdicts;
use super::{Bound, Target};
use crate::hubs::{CLIENTS, HubFigures, HubKind, RECOVERY_LIMIT};

/// Renders the section. `alone` is the time until all servers are listed without a hub.
#[must_use]
pub fn hubs_section(figures: &[HubFigures], alone: Duration, servers: usize) -> String {
    let columns = [
        "hub",
        "first start ms",
        "second start ms",
        "`tools/list` ms",
        "call ms",
        "calls/s",
        "recovery ms",
        "peak KiB",
    ];
    let mut table = Table::new(&columns, 1);
    for hub in figures {
        let recovery = match hub.recovery {
            None => "never".to_owned(),
            Some(time) if hub.killed == 0 => format!("{} (nothing to kill)", shown(time)),
            Some(time) => shown(time),
        };
        table.row(&[
            hub.kind.to_string(),
            shown(hub.first_start),
            shown(hub.second_start),
            shown(hub.list),
            shown(hub.call),
            number(hub.calls_per_second),
            recovery,
            grouped(hub.memory as f64),
        ]);
    }
    let targets = verdicts(targets(figures));
    let limit = RECOVERY_LIMIT.as_secs();
    let alone = shown(alone);
    format!(
        "## Hubs\n\n\
         {servers} servers of one configuration, all over stdio, behind three hubs in one run: `callgate serve`, `mcp-hub` from npm and `fastmcp run` from PyPI.\n\
         {TEXT}\
         A server that does not answer within {limit} s after it was killed counts as lost, and in the comparison as {limit} s.\n\
         Without a hub, started all at once, the servers are listed after {alone} ms: the time of the servers themselves, which a hub saves only if it knows them from an earlier start.\n\
         \n{targets}\n{table}"
    )
}

/// Explanation of the figures.
const TEXT: &str = "\
Callgate's client drives all three, over the newest transport and revision with which a hub shows all servers.
A start lasts until tools of all servers are listed; for the first one nothing is saved, the second one finds the files of the first.
The times of requests are medians of one client, the calls per second those of 10 clients, each with a server of its own: the time of the servers themselves is included.
Recovery is the time from `kill -9` of one server until a call to it works; a hub that starts its servers for each call has none to kill.
The memory is that of the hub itself, without its servers.
";

/// A figure of a hub.
type Figure = fn(&HubFigures) -> f64;

fn targets(figures: &[HubFigures]) -> Vec<Target> {
    let hub = |kind| figures.iter().find(|hub| hub.kind == kind);
    let lower: [(&str, Figure); 6] = [
        ("first start", |hub| hub.first_start.as_secs_f64()),
        ("second start", |hub| hub.second_start.as_secs_f64()),
        ("`tools/list`", |hub| hub.list.as_secs_f64()),
        ("call", |hub| hub.call.as_secs_f64()),
        ("recovery", |hub| {
            hub.recovery.unwrap_or(RECOVERY_LIMIT).as_secs_f64()
        }),
        ("memory", |hub| hub.memory as f64),
    ];
    let mut targets = Vec::new();
    for other in [HubKind::McpHub, HubKind::Fastmcp] {
        let compare = |ratio: &dyn Fn(&HubFigures, &HubFigures) -> f64| {
            Some(ratio(hub(HubKind::Callgate)?, hub(other)?))
        };
        for (name, figure) in lower {
            targets.push(Target::new(
                format!("{name}: {other} ÷ callgate"),
                Bound::AtLeast(3.0),
                compare(&|ours, theirs| figure(theirs) / figure(ours)),
            ));
        }
        targets.push(Target::new(
            format!("calls/s of {CLIENTS} clients: callgate ÷ {other}"),
            Bound::AtLeast(3.0),
            compare(&|ours, theirs| ours.calls_per_second / theirs.calls_per_second),
        ));
    }
    targets
}

/// Milliseconds.
fn shown(time: Duration) -> String {
    number(time.as_secs_f64() * 1e3)
}

/// A number, with decimals where they say something.
fn number(value: f64) -> String {
    if value < 100.0 {
        ratio(value)
    } else {
        grouped(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hub_is_compared_in_each_figure() {
        let millis = Duration::from_millis;
        let ours = HubFigures {
            kind: HubKind::Callgate,
            first_start: millis(3_000),
            second_start: millis(20),
            list: millis(1),
            call: millis(2),
            calls_per_second: 1_000.0,
            recovery: Some(millis(500)),
            killed: 1,
            memory: 10_000,
        };
        let other = HubFigures {
            kind: HubKind::McpHub,
            first_start: millis(3_300),
            second_start: millis(3_300),
            list: millis(10),
            call: millis(50),
            calls_per_second: 200.0,
            recovery: None,
            killed: 1,
            memory: 80_000,
        };
        let section = hubs_section(&[ours, other], millis(2_800), 14);
        for row in [
            "| callgate | 3,000 | 20.00 | 1.00 | 2.00 | 1,000 | 500 | 10,000 |\n",
            "| mcp-hub | 3,300 | 3,300 | 10.00 | 50.00 | 200 | never | 80,000 |\n",
            "| first start: mcp-hub ÷ callgate | at least 3.00 | 1.10 | not met |\n",
            "| recovery: mcp-hub ÷ callgate | at least 3.00 | 60.00 | met |\n",
            "| memory: mcp-hub ÷ callgate | at least 3.00 | 8.00 | met |\n",
            "| calls/s of 10 clients: callgate ÷ mcp-hub | at least 3.00 | 5.00 | met |\n",
            "| call: fastmcp ÷ callgate | at least 3.00 | - | not met |\n",
        ] {
            assert!(section.contains(row), "{section}");
        }
    }
}
