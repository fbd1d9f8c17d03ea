use callgate_wire::{Kind, RawJson};
use serde_json::{Map, Value};

/// Plain schema, as most tools have it: objects of typed fields, without references, patterns or
/// combinations.
///
/// It checks undecoded JSON, which makes the common case fast. It never accepts a wrong value: one
/// that does not certainly fit is left to the full validator.
#[derive(Debug, Default)]
pub(super) struct PlainSchema {
    /// Allowed types by name; empty if any is allowed.
    types: Vec<String>,
    properties: Vec<(String, PlainSchema)>,
    required: Vec<String>,
    items: Option<Box<PlainSchema>>,
    /// Allowed strings.
    choices: Option<Vec<String>>,
    minimum: Option<i64>,
    maximum: Option<i64>,
}

/// Type names of JSON Schema.
const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

impl PlainSchema {
    /// Reads a schema; `None` if it is not plain, or not valid.
    pub(super) fn read(schema: &Value) -> Option<Self> {
        let mut plain = Self::default();
        for (keyword, value) in schema.as_object()? {
            plain.read_keyword(keyword, value)?;
        }
        Some(plain)
    }

    fn read_keyword(&mut self, keyword: &str, value: &Value) -> Option<()> {
        match keyword {
            "type" => self.types = types(value)?,
            "properties" => self.properties = properties(value.as_object()?)?,
            "required" => self.required = distinct_strings(value)?,
            "items" => self.items = Some(Box::new(Self::read(value)?)),
            "enum" => self.choices = Some(distinct_strings(value)?),
            "minimum" => self.minimum = Some(value.as_i64()?),
            "maximum" => self.maximum = Some(value.as_i64()?),
            // Values with members that have no schema are always left to the validator.
            "additionalProperties" => return value.is_boolean().then_some(()),
            "title" | "description" | "format" => return value.is_string().then_some(()),
            "deprecated" | "readOnly" | "writeOnly" => return value.is_boolean().then_some(()),
            "default" => {}
            _ if keyword.starts_with("x-") => {}
            _ => return None,
        }
        Some(())
    }

    /// True if `value` certainly fits.
    pub(super) fn fits(&self, value: &RawJson) -> bool {
        if self.choices.is_some() && value.kind() != Kind::String {
            return false;
        }
        match value.kind() {
            Kind::Object => self.allows("object") && self.fits_object(value),
            Kind::Array => self.allows("array") && self.fits_array(value),
            Kind::String => self.allows("string") && self.fits_string(value),
            Kind::Number => self.fits_number(value.as_str()),
            Kind::Bool => self.allows("boolean"),
            Kind::Null => self.allows("null"),
        }
    }

    fn allows(&self, name: &str) -> bool {
        self.types.is_empty() || self.types.iter().any(|allowed| allowed == name)
    }

    fn fits_object(&self, value: &RawJson) -> bool {
        let fits = value.members().all(|member| {
            let property = self.properties.iter().find(|(name, _)| member.is(name));
            property.is_some_and(|(_, schema)| schema.fits(&value.value_of(&member)))
        });
        fits && self
            .required
            .iter()
            .all(|name| value.members().any(|member| member.is(name)))
    }

    fn fits_array(&self, value: &RawJson) -> bool {
        // Without a schema for the elements there is nothing to check them against here.
        let Some(items) = &self.items else {
            return false;
        };
        value.elements().iter().all(|element| items.fits(element))
    }

    /// Text with an escape is left to the validator: the escape may be a lone surrogate.
    fn fits_string(&self, value: &RawJson) -> bool {
        let text = value.as_str().trim_matches('"');
        let fits = |choices: &Vec<String>| choices.iter().any(|choice| choice == text);
        !text.contains('\\') && self.choices.as_ref().is_none_or(fits)
    }

    fn fits_number(&self, text: &str) -> bool {
        let Ok(number) = text.parse::<i64>() else {
            // A fraction or a large number: the bounds are whole, so only an unbounded number is
            // certain to fit.
            let is_finite = text.parse().is_ok_and(f64::is_finite);
            let is_unbounded = self.minimum.is_none() && self.maximum.is_none();
            return is_finite && self.allows("number") && is_unbounded;
        };
        (self.allows("integer") || self.allows("number"))
            && self.minimum.is_none_or(|minimum| minimum <= number)
            && self.maximum.is_none_or(|maximum| number <= maximum)
    }
}

fn types(value: &Value) -> Option<Vec<String>> {
    let types = match value {
        Value::String(name) => vec![name.clone()],
        _ => distinct_strings(value)?,
    };
    let all_known = types.iter().all(|name| TYPES.contains(&name.as_str()));
    (all_known && !types.is_empty()).then_some(types)
}

fn properties(value: &Map<String, Value>) -> Option<Vec<(String, PlainSchema)>> {
    let property =
        |(name, schema): (&String, &Value)| Some((name.clone(), PlainSchema::read(schema)?));
    value.iter().map(property).collect()
}

fn distinct_strings(value: &Value) -> Option<Vec<String>> {
    let mut strings = Vec::new();
    for value in value.as_array()? {
        let string = value.as_str()?;
        if strings.iter().any(|other| other == string) {
            return None;
        }
        strings.push(string.to_owned());
    }
    Some(strings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::Limits;
    use proptest::prelude::*;
    use serde_json::json;

    fn raw(text: &str) -> RawJson {
        RawJson::parse(text.to_owned().into(), &Limits::default()).unwrap()
    }

    #[test]
    fn only_plain_schemas_are_read() {
        for schema in [
            json!({}),
            json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}}),
            json!({"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255}),
            json!({"enum": ["a", "b"], "description": "d", "default": "a", "x-mcp-header": "A"}),
            json!({"additionalProperties": false, "items": {"deprecated": true}}),
        ] {
            assert!(PlainSchema::read(&schema).is_some(), "{schema}");
            assert!(jsonschema::validator_for(&schema).is_ok(), "{schema}");
        }
        for schema in [
            json!(true),
            json!({"$ref": "#"}),
            json!({"pattern": "a"}),
            json!({"anyOf": [{}]}),
            json!({"type": "text"}),
            json!({"type": []}),
            json!({"required": ["a", "a"]}),
            json!({"required": 7}),
            json!({"properties": {"a": true}}),
            json!({"additionalProperties": {}}),
            json!({"minimum": 0.5}),
            json!({"enum": [1]}),
            json!({"title": 1}),
            json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
        ] {
            assert!(PlainSchema::read(&schema).is_none(), "{schema}");
        }
    }

    #[test]
    fn uncertain_values_do_not_take_the_fast_path() {
        let schema = json!({
            "type": "object",
            "properties": {
                "s": {"type": "string"},
                "c": {"enum": ["a", "b"]},
                "n": {"type": ["integer", "null"], "minimum": -5, "maximum": 5},
                "f": {"type": "number"},
                "l": {"type": "array", "items": {"type": "boolean"}},
                "o": {"properties": {"x": {}}}
            },
            "required": ["s"]
        });
        let plain = PlainSchema::read(&schema).unwrap();
        for (text, expect) in [
            (r#"{"s":"x"}"#, true),
            (
                r#"{"s":"x","c":"b","n":5,"f":1.5,"l":[true,false],"o":{"x":[]}}"#,
                false,
            ),
            (
                r#"{"s":"x","c":"b","n":5,"f":1.5,"l":[true,false],"o":{"x":"y"}}"#,
                true,
            ),
            (r#"{"s":"x","n":null,"f":-3,"l":[],"o":{}}"#, true),
            (r#"{"\u0073":"x"}"#, true),
            ("{}", false),
            (r#"{"s":"\ud800"}"#, false),
            (r#"{"s":1}"#, false),
            (r#"{"s":"x","c":"z"}"#, false),
            (r#"{"s":"x","c":1}"#, false),
            (r#"{"s":"x","n":6}"#, false),
            (r#"{"s":"x","n":1.0}"#, false),
            (r#"{"s":"x","f":1e999}"#, false),
            (r#"{"s":"x","l":[1]}"#, false),
            (r#"{"s":"x","unknown":1}"#, false),
            ("[]", false),
        ] {
            assert_eq!(plain.fits(&raw(text)), expect, "{text}");
        }
    }

    fn schema() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            prop::sample::select(&TYPES[..]).prop_map(|kind| json!({"type": kind})),
            (-2..3_i64, 0..3_i64).prop_map(|(low, high)| json!({"minimum": low, "maximum": high})),
            Just(json!({"type": ["integer", "null"]})),
            Just(json!({"enum": ["a", "b"]})),
            Just(json!({})),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                inner.clone().prop_map(|items| json!({"items": items})),
                (
                    prop::collection::btree_map("[a-c]", inner, 0..3),
                    prop::collection::btree_set("[a-c]", 0..2),
                    any::<bool>(),
                )
                    .prop_map(|(properties, required, open)| json!({
                        "properties": properties,
                        "required": required,
                        "additionalProperties": open
                    })),
            ]
        })
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            (-3..4_i64).prop_map(Value::from),
            Just(json!(1.5)),
            Just(json!(1.0)),
            Just(json!(null)),
            Just(json!(true)),
            "[a-c]".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-c]", inner, 0..3).prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_value_that_fits_the_fast_path_is_valid(schema in schema(), value in value()) {
            let plain = PlainSchema::read(&schema).unwrap();
            if plain.fits(&raw(&value.to_string())) {
                let validator = jsonschema::validator_for(&schema).unwrap();
                prop_assert!(validator.is_valid(&value), "{} {}", schema, value);
            }
        }
    }
}
