use std::sync::OnceLock;

use callgate_wire::{Limits, RawJson};
use jsonschema::{PatternOptions, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;

use super::cost::bound_cost;
use super::error::{SchemaError, check_root};
use super::plain::PlainSchema;
use super::plain_check::Verdict;

/// Maximum number of problems that one message names.
const MAX_PROBLEMS: usize = 8;
/// Text between two problems of a message.
const SEPARATOR: &str = "; ";
/// Maximum size of a compiled regular expression, in bytes. A schema with a larger one is refused.
const MAX_REGEX: usize = 1024 * 1024;

/// Compiled JSON Schema, whose check has a bounded cost for any value.
///
/// The validator takes megabytes of memory, code included. For a plain schema it is therefore built
/// when the fast check first leaves a value to it, which none that usual clients send does.
#[derive(Debug)]
pub struct CompiledSchema {
    schema: Value,
    plain: Option<PlainSchema>,
    validator: OnceLock<Result<Validator, String>>,
    /// Maximum nesting of values, where checking deeper ones would cost too much.
    depth_limit: Option<usize>,
}

impl CompiledSchema {
    /// Compiles the input schema of a tool, whose root must be an object.
    ///
    /// # Errors
    /// See [`Self::new`].
    pub fn of_arguments(schema: &RawJson) -> Result<Self, SchemaError> {
        check_root(schema)?;
        Self::new(schema)
    }

    /// Compiles a schema within limits; patterns match in linear time and references stay inside.
    ///
    /// # Errors
    /// The schema is invalid, or checking a value against it may cost too much.
    pub fn new(schema: &RawJson) -> Result<Self, SchemaError> {
        let value: Value = schema
            .decode()
            .map_err(|error| SchemaError::Invalid(error.to_string()))?;
        let depth_limit = bound_cost(&value, schema.as_bytes().len())?;
        let compiled = Self {
            plain: PlainSchema::read(&value).filter(|_| depth_limit.is_none()),
            schema: value,
            validator: OnceLock::new(),
            depth_limit,
        };
        // Made at once, since only this finds the mistakes of a schema that is not plain.
        if compiled.plain.is_none() {
            compiled.validator().map_err(SchemaError::Invalid)?;
        }
        Ok(compiled)
    }

    /// Checks a value.
    ///
    /// # Errors
    /// The problems by field, for people and models to read. They do not quote the value.
    pub fn check(&self, json: &RawJson) -> Result<(), String> {
        let verdict = self.plain.as_ref();
        match verdict.map(|plain| plain.check(json, MAX_PROBLEMS)) {
            Some(Verdict::Fits) => return Ok(()),
            // Of a key that occurs twice, the validator sees only the last value.
            Some(Verdict::Wrong(problems)) if has_distinct_keys(json) => {
                return Err(problems.join(SEPARATOR));
            }
            Some(Verdict::Wrong(_) | Verdict::Uncertain) | None => {}
        }
        let value: Value = json.decode().map_err(|error| error.to_string())?;
        self.check_value(&value)
    }

    fn check_value(&self, value: &Value) -> Result<(), String> {
        if let Some(limit) = self.depth_limit
            && is_deeper(value, limit)
        {
            return Err(format!("nothing may be nested deeper than {limit} levels"));
        }
        let validator = self.validator()?;
        if validator.is_valid(value) {
            return Ok(());
        }
        let problems = problems(validator, value).take(MAX_PROBLEMS);
        Err(problems.collect::<Vec<_>>().join(SEPARATOR))
    }

    fn validator(&self) -> Result<&Validator, String> {
        let made = self.validator.get_or_init(|| {
            jsonschema::options()
                .with_pattern_options(PatternOptions::regex().size_limit(MAX_REGEX))
                .build(&self.schema)
                .map_err(|error| error.to_string())
        });
        made.as_ref().map_err(Clone::clone)
    }
}

fn has_distinct_keys(json: &RawJson) -> bool {
    RawJson::parse_strict(json.clone().into_bytes(), &Limits::default()).is_ok()
}

/// True if `value` is nested deeper than `levels`.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let deeper = |part: &Value| levels == 0 || is_deeper(part, levels - 1);
    match value {
        Value::Array(elements) => elements.iter().any(deeper),
        Value::Object(members) => members.values().any(deeper),
        _ => false,
    }
}

/// Problems of a value that is not valid.
fn problems<'v>(validator: &'v Validator, value: &'v Value) -> impl Iterator<Item = String> {
    let errors = validator.iter_errors(value);
    errors.map(|error| describe(&error, value))
}

/// Describes one problem: the field and the expectation. The value is left out: it may be large or
/// secret.
fn describe(error: &ValidationError<'_>, checked: &Value) -> String {
    let path = error.instance_path().as_str();
    match (error.kind(), path) {
        // The validator reports the forbidden value, but not the name of its member.
        (ValidationErrorKind::FalseSchema, "") => {
            let mut members = checked.as_object().into_iter().flatten();
            let found = members.find(|(_, value)| *value == error.instance().as_ref());
            let name = found.map_or("", |(name, _)| name);
            format!("`{name}` is not allowed")
        }
        (ValidationErrorKind::FalseSchema, _) => format!("`{path}` is not allowed"),
        (_, "") => error.masked().to_string(),
        _ => format!("`{path}`: {}", error.masked()),
    }
}

#[cfg(test)]
impl CompiledSchema {
    /// All problems that the general validator names.
    pub(super) fn general_problems(schema: &Value, value: &Value) -> Vec<String> {
        let validator = jsonschema::validator_for(schema).unwrap();
        problems(&validator, value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn compile(schema: &Value) -> Result<CompiledSchema, SchemaError> {
        let text = schema.to_string();
        CompiledSchema::of_arguments(&RawJson::parse(text.into(), &Limits::default()).unwrap())
    }

    #[test]
    fn problems_name_the_field_and_the_expected_type() {
        let schema = compile(&json!({
            "type": "object",
            "properties": {
                "a": {"type": "integer"},
                "b": {"properties": {"c": {"enum": ["x", "y"]}}},
                "d": {"pattern": "^[0-9]+$"},
                "f": false
            },
            "required": ["a"],
            "additionalProperties": false
        }))
        .unwrap();
        for (arguments, expect) in [
            (json!({"a": 1, "b": {"c": "x"}, "d": "12"}), Ok(())),
            (json!({}), Err(r#""a" is a required property"#)),
            (
                json!({"a": "s".repeat(10_000)}),
                Err(r#"`/a`: value is not of type "integer""#),
            ),
            (
                json!({"a": 1, "b": {"c": "z"}}),
                Err(r#"`/b/c`: value is not one of "x" or "y""#),
            ),
            (
                json!({"a": 1, "d": "x"}),
                Err(r#"`/d`: value does not match "^[0-9]+$""#),
            ),
            (json!({"a": 1, "f": 1}), Err("`/f` is not allowed")),
            (
                json!({"a": 1, "e": 1}),
                Err("Additional properties are not allowed ('e' was unexpected)"),
            ),
        ] {
            assert_eq!(
                schema.check_value(&arguments),
                expect.map_err(str::to_owned),
                "{arguments}"
            );
        }
    }

    #[test]
    fn only_so_many_problems_are_named() {
        let names: Vec<_> = (0..100).map(|n| format!("field{n}")).collect();
        let schema = compile(&json!({"type": "object", "required": names})).unwrap();
        let problems = schema.check_value(&json!({})).unwrap_err();
        assert_eq!(
            problems.matches("is a required property").count(),
            MAX_PROBLEMS
        );
    }

    #[test]
    fn arguments_that_would_take_for_ever_to_check_are_refused() {
        let operation = |name: &str| {
            json!({
                "properties": {"a": {"$ref": "#"}, "op": {"const": name}},
                "required": ["op"]
            })
        };
        let schema = json!({"type": "object", "oneOf": [operation("x"), operation("y")]});
        let schema = compile(&schema).unwrap();
        let nested =
            |levels| (0..levels).fold(json!({"op": "x"}), |a, _| json!({"op": "x", "a": a}));
        assert_eq!(schema.check_value(&nested(10)), Ok(()));
        assert_eq!(
            schema.check_value(&nested(100)),
            Err("nothing may be nested deeper than 11 levels".to_owned())
        );
    }

    #[test]
    fn usual_values_and_mistakes_do_not_build_the_validator() {
        let schema = json!({
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"type": ["string", "null"]}},
            "required": ["a"],
            "$defs": {"A": {"type": "string", "enum": ["x", "y"]}}
        });
        let schema = compile(&schema).unwrap();
        for (arguments, expect) in [
            (r#"{"a":"x","b":"two\nlines"}"#, Ok(())),
            (r#"{"a":"x","b":null,"c":{"d":[1]}}"#, Ok(())),
            (
                r#"{"b":1}"#,
                Err(
                    "`/b`: value is not of types \"null\", \"string\"; \"a\" is a required property",
                ),
            ),
        ] {
            let arguments = RawJson::parse(arguments.into(), &Limits::default()).unwrap();
            assert_eq!(schema.check(&arguments), expect.map_err(str::to_owned));
        }
        assert!(schema.validator.get().is_none());
    }

    #[test]
    fn of_a_key_that_occurs_twice_the_last_value_counts() {
        let schema = json!({"type": "object", "additionalProperties": {"type": "string"}});
        let schema = compile(&schema).unwrap();
        let check = |text: &'static str| {
            schema.check(&RawJson::parse(text.into(), &Limits::default()).unwrap())
        };
        assert_eq!(check(r#"{"a":1,"a":"x"}"#), Ok(()));
        assert!(check(r#"{"a":"x","a":1}"#).is_err());
    }

    /// Schemas that were made to hurt: each is refused or checked at once, whatever is checked.
    #[test]
    fn hostile_schemas_cost_little() {
        let started = std::time::Instant::now();
        let mut checked = 0;
        for schema in hostile_schemas() {
            if let Ok(schema) = compile(&schema) {
                let long = "a".repeat(100_000);
                let deep = (0..100).fold(json!({}), |a, _| json!({"a": a}));
                for arguments in [json!({"a": long}), json!({"a": [long]}), deep] {
                    let _ = schema.check_value(&arguments);
                }
                checked += 1;
            }
        }
        assert!((3..30).contains(&checked), "{checked} of 30");
        assert!(started.elapsed().as_secs() < 100);
    }

    fn hostile_schemas() -> Vec<Value> {
        let patterns = [
            "(a+)+$",
            "(a|a)*$",
            "(.*a){20}",
            "a{1000}{1000}",
            "(?:a?){500}a{500}",
            "(",
            "(?=a)",
        ];
        let by_pattern = patterns
            .iter()
            .map(|pattern| json!({"type": "object", "properties": {"a": {"pattern": pattern}}}));
        let by_key = patterns.iter().map(|pattern| {
            json!({"type": "object", "patternProperties": {*pattern: {"pattern": pattern}}})
        });
        let remote = [
            "http://127.0.0.1:1/",
            "file:///etc/passwd",
            "//x",
            "a.json",
            "urn:x",
        ];
        let by_reference = remote
            .iter()
            .map(|uri| json!({"type": "object", "properties": {"a": {"$ref": uri}}}));
        let recursive = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|keyword| {
            let twice = json!([{"$ref": "#/$defs/d"}, {"$ref": "#/$defs/d"}]);
            let below = json!({"properties": {"a": {keyword: twice}}});
            [
                json!({"type": "object", "$defs": {"d": {keyword: twice}}, keyword: twice}),
                json!({"type": "object", "$defs": {"d": below}, "$ref": "#/$defs/d"}),
            ]
        });
        let chain = |levels: usize| {
            let mut schema = json!({"type": "object", "$ref": "#/$defs/d0"});
            for level in 0..levels {
                let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
                schema["$defs"][format!("d{level}")] = json!({"anyOf": [next, next]});
            }
            schema["$defs"][format!("d{levels}")] = json!({"minProperties": 9});
            schema
        };
        let chains = [28, 200].map(chain);
        let endless = [
            json!({"type": "object", "$ref": "#"}),
            json!({"type": "object", "not": {"$ref": "#"}}),
        ];
        let unique = json!({"type": "object", "properties": {"a": {"uniqueItems": true}}});
        by_pattern
            .chain(by_key)
            .chain(by_reference)
            .chain(recursive)
            .chain(chains)
            .chain(endless)
            .chain([unique])
            .collect()
    }

    #[test]
    fn a_schema_that_cannot_be_checked_is_refused() {
        assert!(matches!(
            compile(&json!({"type": "string"})),
            Err(SchemaError::NotAnObject)
        ));
        for schema in [
            json!({"type": "object", "required": 7}),
            json!({"type": "object", "pattern": "(?=a)b"}),
            json!({"type": "object", "pattern": "("}),
            json!({"type": "object", "pattern": "(((a{1000}){1000}){1000})"}),
        ] {
            assert!(
                matches!(compile(&schema), Err(SchemaError::Invalid(_))),
                "{schema}"
            );
        }
    }
}
