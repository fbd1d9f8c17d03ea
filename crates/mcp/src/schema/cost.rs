use std::collections::BTreeMap;

use serde_json::Value;

use super::error::{MAX_BYTES, MAX_EXPANSION, SchemaError};
use super::graph::{SchemaGraph, ValuePart};

/// Maximum depth of a value: the JSON parser refuses deeper ones.
const MAX_VALUE_DEPTH: usize = 128;
/// Maximum number of checks that one part of a value may cost.
const MAX_CHECKS: u64 = 10_000;

/// Bounds the cost of checking a value against `schema`. Returns the maximum nesting of values if the
/// cost grows with it.
pub(super) fn bound_cost(schema: &Value, bytes: usize) -> Result<Option<usize>, SchemaError> {
    if bytes > MAX_BYTES {
        return Err(SchemaError::TooLarge { bytes });
    }
    let graph = SchemaGraph::new(schema)?;
    if graph.expansion()? > MAX_EXPANSION {
        return Err(SchemaError::TooExpensive);
    }
    depth_limit(&graph, MAX_VALUE_DEPTH)
}

/// Maximum nesting at which no part of a value costs more than the limit; `None` if none ever does.
///
/// A recursive schema that applies itself to the same part of a value more than once, as a union of
/// alternatives does, multiplies its cost with every level. The result is an upper bound: it ignores
/// that alternatives may exclude each other.
fn depth_limit(graph: &SchemaGraph, deepest: usize) -> Result<Option<usize>, SchemaError> {
    let in_place = graph.in_place()?;
    let steps: Vec<_> = in_place
        .iter()
        .map(|nodes| part_checks(graph, nodes))
        .collect();
    // Checks of a part at the current depth below the value that a node is applied to.
    let mut checks: Vec<u64> = in_place
        .iter()
        .map(|nodes| nodes.values().fold(0, |sum: u64, n| sum.saturating_add(*n)))
        .collect();
    for depth in 1..=deepest {
        let deeper = steps.iter().map(|steps| worst(steps, &checks)).collect();
        let shallower = std::mem::replace(&mut checks, deeper);
        if checks.first().is_some_and(|root| *root > MAX_CHECKS) {
            return Ok(Some(depth - 1));
        }
        // Most schemas do not recur, and cost the same from here on.
        if checks == shallower {
            return Ok(None);
        }
    }
    Ok(None)
}

/// Subschemas that are applied to one part of a value, and how often.
type PartChecks = BTreeMap<usize, u64>;

/// Subschemas that `nodes`, applied to a value, apply to its parts, part by part.
fn part_checks(graph: &SchemaGraph, nodes: &BTreeMap<usize, u64>) -> Vec<PartChecks> {
    let mut by_part: BTreeMap<&ValuePart, PartChecks> = BTreeMap::new();
    for (node, count) in nodes {
        for (part, child) in graph.below(*node) {
            let times = by_part.entry(part).or_default().entry(*child).or_default();
            *times = times.saturating_add(*count);
        }
    }
    by_part
        .iter()
        .map(|(part, step)| {
            let mut step = step.clone();
            // A part with a name is also subject to the rules for all parts of its kind.
            let any = part.any_of_its_kind();
            if any != **part {
                for (child, count) in by_part.get(&any).into_iter().flatten() {
                    let times = step.entry(*child).or_default();
                    *times = times.saturating_add(*count);
                }
            }
            step
        })
        .collect()
}

fn worst(steps: &[PartChecks], checks: &[u64]) -> u64 {
    let cost = |step: &PartChecks| {
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
    use crate::schema::error::{MAX_DEPTH, MAX_PATTERN, MAX_SUBSCHEMAS};
    use serde_json::json;

    fn admitted(schema: &Value) -> Result<(), SchemaError> {
        bound_cost(schema, schema.to_string().len()).map(drop)
    }

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!({}), |inner, _| json!({"items": inner}))
    }

    fn wide(subschemas: usize) -> Value {
        json!({"anyOf": vec![json!(true); subschemas]})
    }

    /// Each definition asks for the next one twice.
    fn doubling(levels: usize) -> Value {
        let mut definitions = serde_json::Map::new();
        for level in 0..levels {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            definitions.insert(format!("d{level}"), json!({"anyOf": [next, next]}));
        }
        definitions.insert(format!("d{levels}"), json!({"type": "string"}));
        json!({"$ref": "#/$defs/d0", "$defs": definitions})
    }

    #[test]
    fn every_limit_is_kept() {
        assert_eq!(admitted(&nested(MAX_DEPTH)), Ok(()));
        assert_eq!(admitted(&nested(MAX_DEPTH + 1)), Err(SchemaError::TooDeep));
        assert_eq!(admitted(&wide(MAX_SUBSCHEMAS - 1)), Ok(()));
        assert_eq!(
            admitted(&wide(MAX_SUBSCHEMAS)),
            Err(SchemaError::TooManySubschemas)
        );
        let pattern = |bytes: usize| json!({"pattern": "a".repeat(bytes)});
        assert_eq!(admitted(&pattern(MAX_PATTERN)), Ok(()));
        assert_eq!(
            admitted(&pattern(MAX_PATTERN + 1)),
            Err(SchemaError::PatternTooLong {
                bytes: MAX_PATTERN + 1
            })
        );
        let long_key = json!({"patternProperties": {"a".repeat(MAX_PATTERN + 1): true}});
        assert_eq!(
            admitted(&long_key),
            Err(SchemaError::PatternTooLong {
                bytes: MAX_PATTERN + 1
            })
        );
        let described = |bytes: usize| json!({"description": "a".repeat(bytes - 18)});
        assert_eq!(admitted(&described(MAX_BYTES)), Ok(()));
        assert_eq!(
            admitted(&described(MAX_BYTES + 1)),
            Err(SchemaError::TooLarge {
                bytes: MAX_BYTES + 1
            })
        );
    }

    #[test]
    fn references_that_multiply_are_refused() {
        assert_eq!(admitted(&doubling(10)), Ok(()));
        assert_eq!(admitted(&doubling(28)), Err(SchemaError::TooExpensive));
    }

    /// Each definition refers to the next one, and is applied to a member.
    fn chain(levels: usize) -> Value {
        let definition = |level: usize| {
            let next = format!("#/$defs/d{}", level + 1);
            json!({"$ref": next, "properties": {format!("p{level}"): true}})
        };
        let mut definitions: serde_json::Map<_, _> = (0..levels)
            .map(|level| (format!("d{level}"), definition(level)))
            .collect();
        definitions.insert(format!("d{levels}"), json!({"type": "string"}));
        json!({"$ref": "#/$defs/d0", "$defs": definitions})
    }

    #[test]
    fn a_chain_of_references_that_takes_long_to_follow_is_refused() {
        assert_eq!(admitted(&chain(100)), Ok(()));
        assert_eq!(admitted(&chain(400)), Err(SchemaError::TooExpensive));
    }

    #[test]
    fn references_stay_inside_the_schema() {
        for reference in [
            "https://example.com/schema.json",
            "file:///etc/passwd",
            "other.json",
            "#/$defs/missing",
            "#missing",
            "#/$defs/%zz",
        ] {
            assert_eq!(
                admitted(&json!({"$ref": reference, "$defs": {}})),
                Err(SchemaError::Reference {
                    reference: reference.to_owned()
                })
            );
        }
        for (reference, definitions) in [
            ("#", json!({})),
            ("#/$defs/a", json!({"a": true})),
            ("#/$defs/a~1b%20c", json!({"a/b c": true})),
            ("#named", json!({"a": {"$anchor": "named"}})),
            ("urn:a", json!({"a": {"$id": "urn:a"}})),
        ] {
            let schema = json!({"items": {"$ref": reference}, "$defs": definitions});
            assert_eq!(admitted(&schema), Ok(()), "{reference}");
        }
    }

    #[test]
    fn a_recursion_must_look_at_something_smaller() {
        let tree = json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}});
        assert_eq!(admitted(&tree), Ok(()));
        for schema in [
            json!({"$ref": "#"}),
            json!({"anyOf": [{"type": "string"}, {"$ref": "#"}]}),
            json!({"$ref": "#/$defs/a", "$defs": {
                "a": {"not": {"$ref": "#/$defs/b"}}, "b": {"$ref": "#/$defs/a"}}}),
        ] {
            assert!(
                matches!(admitted(&schema), Err(SchemaError::Endless { .. })),
                "{schema}"
            );
        }
    }

    #[test]
    fn data_inside_a_schema_is_not_a_schema() {
        let schema = json!({
            "const": {"$ref": "https://example.com"},
            "enum": [{"$ref": "https://example.com"}],
            "default": {"pattern": "a".repeat(2_000)},
            "properties": {"$ref": {"type": "string"}, "pattern": {"type": "string"}}
        });
        assert_eq!(admitted(&schema), Ok(()));
    }

    fn limit(schema: &Value) -> Option<usize> {
        depth_limit(&SchemaGraph::new(schema).unwrap(), 128).unwrap()
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
