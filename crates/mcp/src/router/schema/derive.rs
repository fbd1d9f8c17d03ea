use callgate_wire::RawJson;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// The schema of arguments that are read as an `A`.
///
/// Arguments are always an object, so the schema says so even where `A` is an enum.
pub(crate) fn input_schema<A: JsonSchema>() -> RawJson {
    let mut schema = root::<A>(SchemaSettings::draft2020_12().for_deserialize());
    if let Some(members) = schema.as_object_mut() {
        members
            .entry("type")
            .or_insert_with(|| Value::from("object"));
    }
    encode(&schema)
}

/// The schema of structured results that are written from a `T`.
pub(crate) fn output_schema<T: JsonSchema>() -> RawJson {
    encode(&root::<T>(SchemaSettings::draft2020_12().for_serialize()))
}

/// The schema without what every reader knows: the dialect is the default one, and the name of a
/// Rust type says nothing.
fn root<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    let settings = settings.with(|settings| settings.meta_schema = None);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema
}

fn encode(schema: &Schema) -> RawJson {
    RawJson::encode(schema).expect("a schema is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Add {
        /// The first number.
        a: i64,
        b: Option<String>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[expect(dead_code, reason = "only its schema is looked at")]
    enum Shape {
        Circle { radius: f64 },
    }

    #[test]
    fn a_schema_has_what_a_model_needs_and_no_more() {
        let value = |schema: RawJson| schema.decode::<Value>().unwrap();
        assert_eq!(
            value(input_schema::<Add>()),
            json!({
                "type": "object",
                "properties": {
                    "a": {
                        "description": "The first number.",
                        "type": "integer",
                        "format": "int64"
                    },
                    "b": {"type": ["string", "null"]}
                },
                "required": ["a"]
            })
        );
        assert_eq!(
            value(output_schema::<Vec<u8>>()),
            json!({
                "type": "array",
                "items": {"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255}
            })
        );
    }

    #[test]
    fn arguments_are_an_object_even_for_an_enum() {
        assert_eq!(
            input_schema::<Shape>().get("type"),
            Some(RawJson::string("object"))
        );
    }
}
