//! The schema of one revision.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use callgate_wire::Version;
use serde_json::{Value, json};

use crate::files;
use crate::sample::Sample;

/// The schema of one revision.
pub(crate) struct Schema {
    version: Version,
    dialect: Value,
    /// Member that holds the definitions, which depends on the dialect.
    keyword: &'static str,
    definitions: BTreeMap<String, Value>,
}

impl Schema {
    /// Reads the schema of a revision.
    pub(crate) fn load(dir: &Path, version: Version) -> Self {
        let mut schema: Value = files::read(&dir.join(version.as_str()).join("schema.json"))
            .decode()
            .unwrap();
        let keyword = ["$defs", "definitions"]
            .into_iter()
            .find(|keyword| schema.get(keyword).is_some())
            .unwrap();
        Self {
            version,
            dialect: schema["$schema"].take(),
            keyword,
            definitions: serde_json::from_value(schema[keyword].take()).unwrap(),
        }
    }

    /// Number of types.
    pub(crate) fn len(&self) -> usize {
        self.definitions.len()
    }

    /// Every sample fits its type.
    pub(crate) fn check(&self, samples: &[Sample]) {
        let mut validators = BTreeMap::new();
        let mut problems = Vec::new();
        for sample in samples {
            let validator = validators
                .entry(sample.name)
                .or_insert_with(|| self.validator(sample.name));
            let value: Value = sample.json.decode().unwrap();
            for error in validator.iter_errors(&value) {
                let place = error.instance_path().to_string();
                problems.push(format!("{} at `{place}`: {error}", sample.name));
            }
        }
        assert!(
            problems.is_empty(),
            "{} of {}:\n{}",
            problems.len(),
            self.version,
            problems.join("\n")
        );
    }

    /// Every type has a sample.
    pub(crate) fn check_types(&self, samples: &[Sample]) {
        let covered = types(samples);
        let missing: Vec<_> = self
            .definitions
            .keys()
            .filter(|name| !covered.contains(name.as_str()))
            .collect();
        assert!(missing.is_empty(), "no sample of {missing:#?}");
    }

    /// The samples of a type have, together, every member.
    pub(crate) fn check_members(&self, samples: &[Sample]) {
        let mut missing = BTreeSet::new();
        for name in types(samples) {
            let of_type = samples.iter().filter(|sample| sample.name == name);
            let values: Vec<Value> = of_type
                .map(|sample| sample.json.decode().unwrap())
                .collect();
            let values: Vec<_> = values.iter().collect();
            missing_members(name, &self.definitions[name], &values, &mut missing);
        }
        assert!(missing.is_empty(), "not in any sample: {missing:#?}");
    }

    fn validator(&self, name: &str) -> jsonschema::Validator {
        assert!(
            self.definitions.contains_key(name),
            "{} has no type {name}",
            self.version
        );
        let schema = json!({
            "$schema": self.dialect,
            "allOf": [{ "$ref": format!("#/{}/{name}", self.keyword) }],
            self.keyword: self.definitions,
        });
        jsonschema::options()
            .should_validate_formats(true)
            .build(&schema)
            .unwrap()
    }
}

/// The types that there are samples of.
pub(crate) fn types(samples: &[Sample]) -> BTreeSet<&'static str> {
    samples.iter().map(|sample| sample.name).collect()
}

/// Collects the members that a schema names and no value has, inline objects included.
fn missing_members(path: &str, schema: &Value, values: &[&Value], missing: &mut BTreeSet<String>) {
    if let Some(items) = schema.get("items") {
        let elements: Vec<_> = values
            .iter()
            .filter_map(|value| value.as_array())
            .flatten()
            .collect();
        missing_members(path, items, &elements, missing);
    }
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    for (key, schema) in properties {
        let path = format!("{path}.{key}");
        let members: Vec<_> = values.iter().filter_map(|value| value.get(key)).collect();
        if members.is_empty() {
            missing.insert(path);
        } else {
            missing_members(&path, schema, &members, missing);
        }
    }
}
