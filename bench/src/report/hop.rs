//! Section about the way of a call through a hub.

use super::markdown::{Table, grouped, ratio};
use super::verdicts::verdicts;
use super::{Bound, Target};
use crate::hop::{HopCost, HopFigures, HubSize};

/// Renders the section.
#[must_use]
pub fn hop_section(figures: &HopFigures) -> String {
    let mut compared = Table::new(&["payload", "relay", "hub", "hub ÷ relay"], 1);
    for cost in &figures.compared {
        compared.row(&[
            cost.shape.to_string(),
            grouped(cost.relay),
            grouped(cost.hub),
            ratio(cost.hub / cost.relay),
        ]);
    }
    let mut sizes = Table::new(&["servers", "other tools", "instructions"], 2);
    for size in &figures.sizes {
        sizes.row(&[
            size.servers.to_string(),
            grouped(size.tools as f64),
            grouped(size.instructions),
        ]);
    }
    let targets = verdicts(targets(figures));
    format!("## Cost of a call through a hub\n\n{TEXT}\n{targets}\n{compared}\n{sizes}")
}

/// Explanation of the hubs.
const TEXT: &str = "\
Instructions of one call at Callgate's HTTP server with a hub behind it, in revision 2026-07-28; the server that is called is the floor, over HTTP.
The relay is the one above: the same without a hub.
The other servers of a hub are in its process, and only listed.
";

fn targets(figures: &HopFigures) -> Vec<Target> {
    let costs = figures.compared.iter();
    let to_relay = costs.map(|HopCost { relay, hub, .. }| hub / relay);
    let sizes = &figures.sizes;
    let by_servers = |size: &&HubSize| size.tools <= 100;
    let by_tools = |size: &&HubSize| size.servers == 10;
    vec![
        Target::new(
            "call through a hub of one server: highest instructions ÷ relay",
            Bound::AtMost(1.15),
            to_relay.max_by(f64::total_cmp),
        ),
        Target::new(
            "1 to 100 servers: highest instructions ÷ lowest",
            Bound::AtMost(1.05),
            spread(sizes.iter().filter(by_servers)),
        ),
        Target::new(
            "10 to 5,000 tools: highest instructions ÷ lowest",
            Bound::AtMost(1.05),
            spread(sizes.iter().filter(by_tools)),
        ),
    ]
}

fn spread<'a>(sizes: impl Iterator<Item = &'a HubSize> + Clone) -> Option<f64> {
    let instructions = sizes.map(|size| size.instructions);
    let lowest = instructions.clone().min_by(f64::total_cmp)?;
    Some(instructions.max_by(f64::total_cmp)? / lowest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Shape;

    #[test]
    fn hubs_are_compared_with_the_relay_and_with_each_other() {
        let size = |(servers, tools, instructions)| HubSize {
            servers,
            tools,
            instructions,
        };
        let figures = HopFigures {
            compared: vec![HopCost {
                shape: Shape::Echo,
                relay: 100_000.0,
                hub: 110_000.0,
            }],
            sizes: [
                (1, 0, 110_000.0),
                (10, 10, 110_000.0),
                (10, 5_000, 121_000.0),
                (100, 100, 112_200.0),
            ]
            .map(size)
            .to_vec(),
        };
        let section = hop_section(&figures);
        for row in [
            "| call through a hub of one server: highest instructions ÷ relay | at most 1.15 | 1.10 | met |\n",
            "| 1 to 100 servers: highest instructions ÷ lowest | at most 1.05 | 1.02 | met |\n",
            "| 10 to 5,000 tools: highest instructions ÷ lowest | at most 1.05 | 1.10 | not met |\n",
            "| 32 B both ways | 100,000 | 110,000 | 1.10 |\n",
            "| 10 | 5,000 | 121,000 |\n",
        ] {
            assert!(section.contains(row), "{section}");
        }
    }
}
