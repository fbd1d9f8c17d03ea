use callgate_wire::content::Content;
use callgate_wire::{RawJson, Splice, meta, method};

/// A result of an old server as this revision has it.
///
/// Old servers leave out what was never checked; whatever is missing is added.
pub(crate) fn complete(method: &str, result: &RawJson, server_info: &RawJson) -> RawJson {
    let result = with_object_meta(result);
    let complete = RawJson::string("complete");
    let private = RawJson::string("private");
    let zero = RawJson::encode(&0).expect("a number is always JSON");
    let none = RawJson::encode::<[u8]>(&[]).expect("a list is always JSON");
    let mut splice = Splice::new(&result)
        .set(&["resultType"], &complete)
        .set(&["_meta", meta::SERVER_INFO], server_info);
    if is_cacheable(method) {
        splice = splice.set(&["ttlMs"], &zero).set(&["cacheScope"], &private);
    }
    if result
        .get("nextCursor")
        .is_some_and(|cursor| cursor.as_str() == "null")
    {
        splice = splice.remove(&["nextCursor"]);
    }
    if let Some(path) = list_of(method)
        && !path.first().is_some_and(|key| is_array(&result, key))
    {
        splice = match result
            .get("toolResult")
            .filter(|_| method == method::TOOLS_CALL)
        {
            // The first revision had results before it had content.
            Some(earliest) => splice.set(path, &as_text(&earliest)),
            None => splice.set(path, &none),
        };
    }
    splice.finish().unwrap_or(result)
}

/// Whether results of `method` say how long they may be kept.
fn is_cacheable(method: &str) -> bool {
    matches!(
        method,
        method::TOOLS_LIST
            | method::PROMPTS_LIST
            | method::RESOURCES_LIST
            | method::RESOURCES_TEMPLATES_LIST
            | method::RESOURCES_READ
            | method::SERVER_DISCOVER
    )
}

/// Where the list is that results of `method` must have.
fn list_of(method: &str) -> Option<&'static [&'static str]> {
    Some(match method {
        method::TOOLS_LIST => &["tools"],
        method::TOOLS_CALL => &["content"],
        method::PROMPTS_LIST => &["prompts"],
        method::PROMPTS_GET => &["messages"],
        method::RESOURCES_LIST => &["resources"],
        method::RESOURCES_TEMPLATES_LIST => &["resourceTemplates"],
        method::RESOURCES_READ => &["contents"],
        _ => return None,
    })
}

fn is_array(result: &RawJson, key: &str) -> bool {
    let value = result.get(key);
    value.is_some_and(|value| value.kind() == callgate_wire::Kind::Array)
}

fn as_text(value: &RawJson) -> RawJson {
    let text = match value.text() {
        Some(text) => text.into_owned(),
        None => value.as_str().to_owned(),
    };
    RawJson::encode(&[Content::text(text)]).expect("content is always JSON")
}

/// The same result, where `_meta` is something else without it.
fn with_object_meta(result: &RawJson) -> RawJson {
    let is_broken = result.get("_meta").is_some_and(|meta| !meta.is_object());
    let repaired = is_broken.then(|| Splice::new(result).remove(&["_meta"]).finish());
    repaired
        .and_then(Result::ok)
        .unwrap_or_else(|| result.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: &str, result: &str, expect: &str) {
        let info = RawJson::string("i");
        let result = serde_json::from_str(result).unwrap();
        assert_eq!(complete(method, &result, &info).as_str(), expect);
    }

    #[test]
    fn results_get_what_this_revision_requires() {
        check(
            "tools/list",
            r#"{"tools":[{"name":"a","n":1.0}],"nextCursor":null}"#,
            r#"{"tools":[{"name":"a","n":1.0}],"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":"i"},"ttlMs":0,"cacheScope":"private"}"#,
        );
        check(
            "tools/list",
            r#"{"_meta":null,"nextCursor":""}"#,
            r#"{"nextCursor":"","resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":"i"},"ttlMs":0,"cacheScope":"private","tools":[]}"#,
        );
        check(
            "tools/call",
            r#"{"_meta":{"a":1},"structuredContent":{},"content":null}"#,
            r#"{"_meta":{"a":1,"io.modelcontextprotocol/serverInfo":"i"},"structuredContent":{},"content":[],"resultType":"complete"}"#,
        );
        check(
            "tools/call",
            r#"{"toolResult":{"a":1.0}}"#,
            r#"{"toolResult":{"a":1.0},"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":"i"},"content":[{"type":"text","text":"{\"a\":1.0}"}]}"#,
        );
        check(
            "completion/complete",
            r#"{"completion":{"values":[]}}"#,
            r#"{"completion":{"values":[]},"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":"i"}}"#,
        );
    }
}
