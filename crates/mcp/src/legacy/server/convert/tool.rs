use callgate_wire::content::Content;
use callgate_wire::{Map, RawJson, Splice};
use serde_json::Value;

use super::content::edit_each;

/// Member that wraps structured content that is not an object.
const WRAPPER: &str = "result";

/// Structured content for an old client, which is always an object. `None` if it is one.
pub(super) fn structured(value: &RawJson) -> Option<RawJson> {
    (!value.is_object()).then(|| object(WRAPPER, value.clone()))
}

/// Content of a result with structured content, which is added as text if there is no text.
pub(super) fn with_text(content: Option<&RawJson>, structured: &RawJson) -> Option<RawJson> {
    let mut blocks = content.map(RawJson::elements).unwrap_or_default();
    let is_text = |block: &RawJson| block.get("type").is_some_and(|tag| is(&tag, "text"));
    if blocks.iter().any(is_text) {
        return None;
    }
    let text = Content::text(structured.as_str());
    blocks.push(RawJson::encode(&text).expect("content is always JSON"));
    Some(RawJson::encode(&blocks).expect("an array of JSON is JSON"))
}

/// Tools with output schemas for an old client, if any has to change.
///
/// Old schemas describe objects. A schema of another type is wrapped like the content; one that
/// allows both, or that cannot be moved, is removed.
pub(super) fn tools(tools: &RawJson) -> Option<RawJson> {
    edit_each(tools, |tool| {
        let schema = tool.get("outputSchema")?;
        let splice = Splice::new(tool);
        match output_schema(&schema) {
            Output::AsItIs => return None,
            Output::Wrapped(schema) => splice.set(&["outputSchema"], &schema),
            Output::Unknown => splice.remove(&["outputSchema"]),
        }
        .finish()
        .ok()
    })
}

enum Output {
    AsItIs,
    Wrapped(RawJson),
    Unknown,
}

fn output_schema(schema: &RawJson) -> Output {
    let Ok(Value::Object(view)) = schema.decode() else {
        return Output::Unknown;
    };
    match view.get("type") {
        Some(Value::String(name)) if name == "object" => return Output::AsItIs,
        Some(Value::String(_)) => {}
        Some(Value::Array(names)) if !names.iter().any(|name| name == "object") => {}
        _ => return Output::Unknown,
    }
    if !can_move(&Value::Object(view)) {
        return Output::Unknown;
    }
    let inner = Splice::new(schema)
        .remove(&["$schema"])
        .remove(&["$defs"])
        .finish()
        .expect("members of an object can be removed");
    let [dialect, definitions] = schema.pick(["$schema", "$defs"]);
    let mut outer: Map<RawJson> = Map::new();
    let mut add = |key: &str, value: Option<RawJson>| {
        if let Some(value) = value {
            outer.insert(key, value);
        }
    };
    add("$schema", dialect);
    add("type", Some(RawJson::string("object")));
    add("properties", Some(object(WRAPPER, inner)));
    add("required", RawJson::encode(&[WRAPPER]).ok());
    add("$defs", definitions);
    Output::Wrapped(RawJson::encode(&outer).expect("an object of JSON is JSON"))
}

/// True if a schema can be nested in another one: it refers only to its definitions, which stay at
/// the root.
fn can_move(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().all(|(key, value)| match key.as_str() {
            "$id" | "$anchor" | "$dynamicRef" | "$dynamicAnchor" | "$recursiveRef" => false,
            "$ref" => value
                .as_str()
                .is_some_and(|target| target.starts_with("#/$defs/")),
            _ => can_move(value),
        }),
        Value::Array(elements) => elements.iter().all(can_move),
        _ => true,
    }
}

fn object(key: &str, value: RawJson) -> RawJson {
    let object: Map<RawJson> = [(key, value)].into_iter().collect();
    RawJson::encode(&object).expect("an object of JSON is JSON")
}

fn is(value: &RawJson, text: &str) -> bool {
    value.text().as_deref() == Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::Limits;

    fn raw(text: &str) -> RawJson {
        RawJson::parse(text.to_owned().into(), &Limits::default()).unwrap()
    }

    fn check(schema: &str, expect: Option<&str>) {
        let list = |member: &str| format!(r#"[{{"name":"t"{member}}}]"#);
        let with = |schema: &str| list(&format!(r#","outputSchema":{schema}"#));
        let seen = tools(&raw(&with(schema)));
        let seen = seen.as_ref().map(RawJson::as_str);
        let expect = expect.map(|expect| match expect {
            "" => list(""),
            schema => with(schema),
        });
        assert_eq!(seen, expect.as_deref(), "{schema}");
    }

    #[test]
    fn output_schemas_describe_objects() {
        check(r#"{"type":"object","properties":{}}"#, None);
        check(
            r#"{"type":"integer"}"#,
            Some(
                r#"{"type":"object","properties":{"result":{"type":"integer"}},"required":["result"]}"#,
            ),
        );
        check(
            r##"{"$schema":"s","type":"array","items":{"$ref":"#/$defs/A"},"$defs":{"A":{"type":"object"}}}"##,
            Some(
                r##"{"$schema":"s","type":"object","properties":{"result":{"type":"array","items":{"$ref":"#/$defs/A"}}},"required":["result"],"$defs":{"A":{"type":"object"}}}"##,
            ),
        );
    }

    #[test]
    fn output_schemas_that_cannot_be_expressed_are_left_out() {
        for schema in [
            "true",
            "{}",
            r#"{"type":["object","null"]}"#,
            r#"{"oneOf":[{"type":"object"},{"type":"array"}]}"#,
            r##"{"type":"array","items":{"$ref":"#"}}"##,
            r##"{"type":"array","items":{"$ref":"#/items"}}"##,
            r##"{"type":"array","$id":"x","items":{}}"##,
        ] {
            check(schema, Some(""));
        }
    }

    #[test]
    fn structured_content_is_an_object_and_has_a_text() {
        assert_eq!(structured(&raw(r#"{"a":1}"#)), None);
        let wrapped = structured(&raw("[1.0,2]")).unwrap();
        assert_eq!(wrapped.as_str(), r#"{"result":[1.0,2]}"#);

        let text = r#"{"type":"text","text":"[1]"}"#;
        let image = r#"{"type":"image","data":"","mimeType":"image/png"}"#;
        let seen = |content: Option<&str>| {
            let content = content.map(raw);
            let content = with_text(content.as_ref(), &raw("[1]"));
            content.map(|content| content.as_str().to_owned())
        };
        assert_eq!(seen(None), Some(format!("[{text}]")));
        assert_eq!(
            seen(Some(&format!("[{image}]"))),
            Some(format!("[{image},{text}]"))
        );
        assert_eq!(seen(Some(r#"[{"type":"text","text":"mine"}]"#)), None);
    }
}
