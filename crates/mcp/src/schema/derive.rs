use callgate_wire::RawJson;
use callgate_wire::elicitation::{PrimitiveSchema, RequestedSchema};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// Input schema of arguments that are deserialized as an `A`.
///
/// The protocol demands an object, so the schema says so even if `A` is an enum.
pub(crate) fn input_schema<A: JsonSchema>() -> RawJson {
    let mut schema = root::<A>(SchemaSettings::draft2020_12().for_deserialize());
    if let Some(members) = schema.as_object_mut() {
        members
            .entry("type")
            .or_insert_with(|| Value::from("object"));
    }
    encode(&schema)
}

/// Output schema of structured content that is serialized from a `T`.
pub(crate) fn output_schema<T: JsonSchema>() -> RawJson {
    encode(&root::<T>(SchemaSettings::draft2020_12().for_serialize()))
}

/// Elicitation form that is deserialized as a `T`; `None` if a field is not of a primitive type.
pub(crate) fn form_schema<T: JsonSchema>() -> Option<RequestedSchema> {
    let settings = SchemaSettings::draft2020_12()
        .for_deserialize()
        .with(|settings| settings.inline_subschemas = true);
    let mut schema = root::<T>(settings);
    let properties = schema.get_mut("properties")?.as_object_mut()?;
    properties.values_mut().for_each(remove_null);
    let form: RequestedSchema = encode(&schema).decode().ok()?;
    let is_other = |field: &PrimitiveSchema| matches!(field, PrimitiveSchema::Other(_));
    let plain = !form.properties.iter().any(|(_, field)| is_other(field));
    plain.then_some(form)
}

/// Removes null from the type of a field: a form has optional fields, but no null.
fn remove_null(field: &mut Value) {
    if let Some(Value::Array(types)) = field.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_mut_slice() {
            let only = only.take();
            if let Some(members) = field.as_object_mut() {
                members.insert("type".to_owned(), only);
            }
        }
    }
    if let Some(Value::Array(options)) = field.get_mut("enum") {
        options.retain(|option| !option.is_null());
    }
}

/// Root schema of `T`, without the dialect, which is the default one, and without the name of the
/// Rust type, which tells a model nothing.
fn root<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    let settings = settings
        .with(|settings| settings.meta_schema = None)
        .with_transform(RecursiveTransform(remove_number_format));
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema
}

/// Removes the formats of Rust numbers, such as `uint64`, which JSON Schema does not define: strict
/// validators warn about them or refuse the schema.
fn remove_number_format(schema: &mut Schema) {
    let is_number = |types: &Value| {
        let is = |name: &Value| name == "integer" || name == "number";
        is(types) || types.as_array().is_some_and(|types| types.iter().any(is))
    };
    if schema.get("type").is_some_and(is_number) {
        schema.remove("format");
    }
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
    fn a_schema_has_only_the_keywords_that_a_model_needs() {
        let value = |schema: RawJson| schema.decode::<Value>().unwrap();
        assert_eq!(
            value(input_schema::<Add>()),
            json!({
                "type": "object",
                "properties": {
                    "a": {
                        "description": "The first number.",
                        "type": "integer"
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
                "items": {"type": "integer", "minimum": 0, "maximum": 255}
            })
        );
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Form {
        /// Your name.
        user_name: String,
        age: Option<u8>,
        score: f64,
        agrees: bool,
        color: Option<Color>,
        colors: Vec<Color>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Color {
        Red,
        Green,
    }

    #[test]
    fn a_form_has_plain_fields() {
        let form = form_schema::<Form>().unwrap();
        assert_eq!(
            serde_json::to_value(&form).unwrap(),
            json!({
                "type": "object",
                "properties": {
                    "userName": {"type": "string", "description": "Your name."},
                    "age": {"type": "integer", "minimum": 0, "maximum": 255},
                    "score": {"type": "number"},
                    "agrees": {"type": "boolean"},
                    "color": {"type": "string", "enum": ["red", "green"]},
                    "colors": {"type": "array", "items": {"type": "string", "enum": ["red", "green"]}}
                },
                "required": ["userName", "score", "agrees", "colors"]
            })
        );
        assert_eq!(form_schema::<Vec<String>>(), None);
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is looked at")]
        struct Nested {
            form: Form,
        }
        assert_eq!(form_schema::<Nested>(), None);
    }

    #[test]
    fn arguments_are_an_object_even_for_an_enum() {
        assert_eq!(
            input_schema::<Shape>().get("type"),
            Some(RawJson::string("object"))
        );
    }
}
