use callgate_wire::elicitation::RequestedSchema;
use callgate_wire::{Map, RawJson};

/// The answers to a form, with the form's own defaults for what `given` leaves out.
///
/// `given` is an object; anything else counts as no answers at all.
///
/// ```
/// # use callgate_mcp::client::with_defaults;
/// # use callgate_mcp::wire::elicitation::{BooleanSchema, RequestedSchema};
/// # use callgate_mcp::wire::RawJson;
/// let newsletter = BooleanSchema { default: Some(false), ..BooleanSchema::default() };
/// let form = RequestedSchema::new().with_optional("newsletter", newsletter);
/// let given = RawJson::encode(&serde_json::json!({"name": "Ada"}))?;
/// assert_eq!(with_defaults(&form, &given).as_str(), r#"{"name":"Ada","newsletter":false}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn with_defaults(form: &RequestedSchema, given: &RawJson) -> RawJson {
    let mut answers: Map<RawJson> = given.decode().unwrap_or_default();
    for (name, field) in form.properties.iter() {
        let field = RawJson::encode(field).expect("a schema is JSON");
        if let Some(default) = field.get("default")
            && !answers.contains(name)
        {
            answers.insert(name, default);
        }
    }
    RawJson::encode(&answers).expect("an object of JSON values is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_field_has_its_default_and_what_is_given_wins() {
        let form: RequestedSchema = serde_json::from_str(
            r#"{"type":"object","properties":{
                "name":{"type":"string","default":"John Doe"},
                "age":{"type":"integer","default":30},
                "score":{"type":"number","default":95.50},
                "status":{"type":"string","enum":["active","gone"],"default":"active"},
                "color":{"type":"string","oneOf":[{"const":"r","title":"Red"}],"default":"r"},
                "tags":{"type":"array","items":{"type":"string","enum":["a","b"]},"default":["a"]},
                "verified":{"type":"boolean","default":true},
                "note":{"type":"string"}
            }}"#,
        )
        .unwrap();
        let check = |given: &str, expect: &str| {
            let given: RawJson = serde_json::from_str(given).unwrap();
            assert_eq!(with_defaults(&form, &given).as_str(), expect);
        };
        check(
            "{}",
            r#"{"name":"John Doe","age":30,"score":95.50,"status":"active","color":"r","tags":["a"],"verified":true}"#,
        );
        check(
            r#"{"verified":false,"other":1.0,"age":7,"name":"x","score":0,"status":"gone","color":"r","tags":[]}"#,
            r#"{"verified":false,"other":1.0,"age":7,"name":"x","score":0,"status":"gone","color":"r","tags":[]}"#,
        );
        check(
            "null",
            with_defaults(&form, &RawJson::empty_object()).as_str(),
        );
    }
}
