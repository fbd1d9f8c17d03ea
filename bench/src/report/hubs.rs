//! Section about the hubs.

use std::time::Duration;

use super::markdown::{Table, grouped, ratio};
use super::verdicts::verdicts;
use super::{Bound, Floor, Target};
use crate::hubs::{CLIENTS, HubFigures, HubFloor, HubKind, RECOVERY_LIMIT, Rate, Time};

/// Renders the section.
#[must_use]
pub fn hubs_section(figures: &[HubFigures], floor: &HubFloor, servers: usize) -> String {
    let columns = [
        "hub",
        "first start ms",
        "second start ms",
        "`tools/list` ms",
        "call ms",
        "calls/s",
        "hub CPU µs/call",
        "recovery ms",
        "peak KiB",
    ];
    let mut table = Table::new(&columns, 1);
    let none = || "-".to_owned();
    for hub in figures {
        let recovery = match hub.recovery {
            None => shown(Time::MoreThan(RECOVERY_LIMIT)),
            Some(time) if hub.killed == 0 => format!("{} (nothing to kill)", millis(time)),
            Some(time) => millis(time),
        };
        table.row(&[
            hub.kind.to_string(),
            shown(hub.first_start),
            shown(hub.second_start),
            shown(hub.list),
            shown(hub.call),
            shown_rate(hub.calls),
            hub.cpu_per_call.map_or_else(none, micros),
            recovery,
            grouped(hub.memory as f64),
        ]);
    }
    table.row(&[
        "no hub: the floor".to_owned(),
        millis(floor.alone.start),
        none(),
        floor.list.map_or_else(none, shown),
        shown(floor.alone.call),
        shown_rate(floor.alone.calls),
        none(),
        none(),
        none(),
    ]);
    let targets = verdicts(targets(figures, floor));
    let limit = RECOVERY_LIMIT.as_secs();
    format!(
        "## Hubs\n\n\
         {servers} servers of one configuration, all over stdio, behind three hubs in one run: `callgate serve`, `mcp-hub` from npm and `fastmcp run` from PyPI.\n\
         {TEXT}\
         A server that does not answer within {limit} s after it was killed counts as lost, and in the comparison as {limit} s.\n\
         {FLOOR}\
         \n{targets}\n{table}"
    )
}

/// Explanation of the figures.
const TEXT: &str = "\
Callgate's client drives all three, over the newest transport and revision with which a hub shows all servers.
A start lasts until tools of all servers are listed; for the first one nothing is saved, the second one finds the files of the first.
The times of requests are medians of one client, the calls per second those of 10 clients, each with a server of its own: the time of the servers themselves is included.
The processor time of the hub is that during the calls of the 10 clients; the servers, the clients and the hub share the processors.
Recovery is the time from `kill -9` of one server until a call to it works; a hub that starts its servers for each call has none to kill.
The memory is that of the hub itself, without its servers.
Idle tasks keep the processors awake during requests, as under load above.
Each measurement has a time limit; where it was reached, the table says so with `>` or `<`, and the comparison uses the limit.
";

/// Explanation of the floor.
const FLOOR: &str = "\
The floor is measured by the same client without a hub.
Its start is that of all servers at once: the time of the servers themselves, which a hub saves only if it knows them from an earlier start.
Its calls go to the servers directly, over stdio, and its `tools/list` to a server that has Callgate's answer ready and checks nothing.
";

/// A figure of a hub.
type Figure = fn(&HubFigures) -> f64;

fn targets(figures: &[HubFigures], floor: &HubFloor) -> Vec<Target> {
    let hub = |kind| figures.iter().find(|hub| hub.kind == kind);
    let alone = &floor.alone;
    let start = Some(Best(alone.start.as_secs_f64(), "the start of the servers"));
    let list = floor
        .list
        .map(|list| Best(list.seconds(), "a prepared list"));
    let call = Some(Best(alone.call.seconds(), "the call without a hub"));
    let lower: [(&str, Figure, Option<Best>); 6] = [
        ("first start", |hub| hub.first_start.seconds(), start),
        ("second start", |hub| hub.second_start.seconds(), None),
        ("`tools/list`", |hub| hub.list.seconds(), list),
        ("call", |hub| hub.call.seconds(), call),
        (
            "recovery",
            |hub| hub.recovery.unwrap_or(RECOVERY_LIMIT).as_secs_f64(),
            None,
        ),
        ("memory", |hub| hub.memory as f64, None),
    ];
    let mut targets = Vec::new();
    for other in [HubKind::McpHub, HubKind::Fastmcp] {
        let (ours, theirs) = (hub(HubKind::Callgate), hub(other));
        for (name, figure, best) in lower {
            let target = Target::new(
                format!("{name}: {other} ÷ callgate"),
                Bound::AtLeast(3.0),
                theirs
                    .zip(ours)
                    .map(|(theirs, ours)| figure(theirs) / figure(ours)),
            );
            let floor = theirs.zip(best).map(|(theirs, Best(best, because))| Floor {
                best: figure(theirs) / best,
                because: because.to_owned(),
            });
            targets.push(target.with_floor(floor));
        }
        let rate = |hub: &HubFigures| hub.calls.per_second();
        let target = Target::new(
            format!("calls/s of {CLIENTS} clients: callgate ÷ {other}"),
            Bound::AtLeast(3.0),
            theirs
                .zip(ours)
                .map(|(theirs, ours)| rate(ours) / rate(theirs)),
        );
        targets.push(target.with_floor(theirs.map(|theirs| Floor {
            best: alone.calls.per_second() / rate(theirs),
            because: "the calls without a hub".to_owned(),
        })));
    }
    targets
}

/// Best figure that a hub can reach, and its name.
#[derive(Clone, Copy)]
struct Best(f64, &'static str);

/// Milliseconds, with a sign where the limit was reached.
fn shown(time: Time) -> String {
    match time {
        Time::Took(time) => millis(time),
        Time::MoreThan(limit) => format!("> {}", millis(limit)),
    }
}

/// Calls per second, with a sign where the limit was reached.
fn shown_rate(rate: Rate) -> String {
    match rate {
        Rate::PerSecond(rate) => number(rate),
        Rate::LessThan(rate) => format!("< {}", number(rate)),
    }
}

/// Milliseconds.
fn millis(time: Duration) -> String {
    number(time.as_secs_f64() * 1e3)
}

/// Microseconds.
fn micros(time: Duration) -> String {
    number(time.as_secs_f64() * 1e6)
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
    use crate::hubs::AloneFigures;

    #[test]
    fn each_hub_is_compared_in_each_figure() {
        let took = |millis| Time::Took(Duration::from_millis(millis));
        let ours = HubFigures {
            kind: HubKind::Callgate,
            first_start: took(3_000),
            second_start: took(20),
            list: took(1),
            call: took(20),
            calls: Rate::PerSecond(1_000.0),
            cpu_per_call: Some(Duration::from_micros(150)),
            recovery: Some(Duration::from_millis(500)),
            killed: 1,
            memory: 10_000,
        };
        let other = HubFigures {
            kind: HubKind::McpHub,
            first_start: took(3_300),
            second_start: Time::MoreThan(Duration::from_secs(60)),
            list: took(10),
            call: took(50),
            calls: Rate::LessThan(0.5),
            cpu_per_call: None,
            recovery: None,
            killed: 1,
            memory: 80_000,
        };
        let floor = HubFloor {
            alone: AloneFigures {
                start: Duration::from_millis(2_750),
                call: took(10),
                calls: Rate::PerSecond(2_000.0),
            },
            list: None,
        };
        let section = hubs_section(&[ours, other], &floor, 14);
        for row in [
            "| callgate | 3,000 | 20.00 | 1.00 | 20.00 | 1,000 | 150 | 500 | 10,000 |\n",
            "| mcp-hub | 3,300 | > 60,000 | 10.00 | 50.00 | < 0.50 | - | > 30,000 | 80,000 |\n",
            "| no hub: the floor | 2,750 | - | - | 10.00 | 2,000 | - | - | - |\n",
            "| first start: mcp-hub ÷ callgate | at least 3.00 | 1.10 | not met; nor is it by the floor, the start of the servers: 1.20 |\n",
            "| call: mcp-hub ÷ callgate | at least 3.00 | 2.50 | not met; the floor, the call without a hub, is 5.00 |\n",
            "| recovery: mcp-hub ÷ callgate | at least 3.00 | 60.00 | met |\n",
            "| memory: mcp-hub ÷ callgate | at least 3.00 | 8.00 | met |\n",
            "| calls/s of 10 clients: callgate ÷ mcp-hub | at least 3.00 | 2000.00 | met |\n",
            "| call: fastmcp ÷ callgate | at least 3.00 | - | not measured |\n",
        ] {
            assert!(section.contains(row), "{section}");
        }
    }
}
