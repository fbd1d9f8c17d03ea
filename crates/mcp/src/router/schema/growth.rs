use std::collections::BTreeMap;

use super::graph::{Graph, Slot};

/// The most checks that one value may cost, however deep it lies.
const MAX_CHECKS: u64 = 10_000;

/// How deep values can be nested before one of them costs more than the limit; `None` if none ever
/// does.
///
/// A recursive schema that applies itself to the same part of a value more than once, as a union of
/// alternatives does, multiplies its work with every level. What is computed is an upper bound: it
/// does not know which alternatives exclude each other.
pub(super) fn depth_limit(graph: &Graph, deepest: usize) -> Option<usize> {
    let in_place = graph.in_place();
    let steps: Vec<_> = in_place.iter().map(|nodes| steps(graph, nodes)).collect();
    // How many checks a value costs at the current depth below one that a node is applied to.
    let mut checks: Vec<u64> = in_place
        .iter()
        .map(|nodes| nodes.values().fold(0, |sum: u64, n| sum.saturating_add(*n)))
        .collect();
    for depth in 1..=deepest {
        checks = steps.iter().map(|steps| worst(steps, &checks)).collect();
        if checks.first().is_some_and(|root| *root > MAX_CHECKS) {
            return Some(depth - 1);
        }
    }
    None
}

/// How often each node is applied to the same part of a value.
type Step = BTreeMap<usize, u64>;

/// What the nodes that are applied to a value apply to its parts, part by part.
fn steps(graph: &Graph, nodes: &BTreeMap<usize, u64>) -> Vec<Step> {
    let mut by_slot: BTreeMap<&Slot, Step> = BTreeMap::new();
    for (node, count) in nodes {
        for (slot, child) in graph.below(*node) {
            let times = by_slot.entry(slot).or_default().entry(*child).or_default();
            *times = times.saturating_add(*count);
        }
    }
    by_slot
        .iter()
        .map(|(slot, step)| {
            let mut step = step.clone();
            let any = slot.any_of_its_kind();
            if any != **slot {
                for (child, count) in by_slot.get(&any).into_iter().flatten() {
                    let times = step.entry(*child).or_default();
                    *times = times.saturating_add(*count);
                }
            }
            step
        })
        .collect()
}

fn worst(steps: &[Step], checks: &[u64]) -> u64 {
    let cost = |step: &Step| {
        step.iter().fold(0_u64, |sum, (child, times)| {
            let below = checks.get(*child).copied().unwrap_or_default();
            sum.saturating_add(times.saturating_mul(below))
        })
    };
    steps.iter().map(cost).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn limit(schema: &Value) -> Option<usize> {
        depth_limit(&Graph::new(schema).unwrap(), 128)
    }

    #[test]
    fn recursion_that_looks_once_at_everything_has_no_limit() {
        for schema in [
            json!({"type": "object", "properties": {"a": {"items": {"type": "string"}}}}),
            json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}),
            json!({"prefixItems": [{"$ref": "#"}, {"$ref": "#"}]}),
            json!({"anyOf": [
                {"type": "string"}, {"items": {"$ref": "#"}}, {"additionalProperties": {"$ref": "#"}}
            ]}),
        ] {
            assert_eq!(limit(&schema), None, "{schema}");
        }
    }

    #[test]
    fn alternatives_that_look_again_have_one() {
        let operation = |name: &str| {
            json!({"properties": {
                "op": {"const": name}, "left": {"$ref": "#"}, "right": {"$ref": "#"}
            }})
        };
        for (schema, expect) in [
            (json!({"anyOf": [operation("add"), operation("sub")]}), 11),
            (
                json!({"oneOf": [
                    operation("add"), operation("sub"), operation("mul"), operation("div")
                ]}),
                5,
            ),
            (
                json!({"items": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}),
                11,
            ),
            (
                json!({"properties": {"a": {"$ref": "#"}}, "patternProperties": {"a": {"$ref": "#"}}}),
                12,
            ),
        ] {
            assert_eq!(limit(&schema), Some(expect), "{schema}");
        }
    }
}
