use callgate_wire::content::Content;
use callgate_wire::{Method, RawJson, Splice, meta, method};

/// Translates a result of an old server into one of this revision.
///
/// Real servers leave out members that no client ever checked; those are added.
pub(crate) fn complete(method: &Method, result: &RawJson, server_info: &RawJson) -> RawJson {
    let result = with_object_meta(result);
    let complete = RawJson::string("complete");
    let private = RawJson::string("private");
    let zero = RawJson::encode(&0).expect("a number is always JSON");
    let none = RawJson::encode::<[u8]>(&[]).expect("a list is always JSON");
    let mut splice = Splice::new(&result)
        .set(&["resultType"], &complete)
        .set(&["_meta", meta::SERVER_INFO], server_info);
    if method.is_cacheable() {
        splice = splice.set(&["ttlMs"], &zero).set(&["cacheScope"], &private);
    }
    if result
        .get("nextCursor")
        .is_some_and(|cursor| cursor.as_str() == "null")
    {
        splice = splice.remove(&["nextCursor"]);
    }
    let list = required_list(method).map(|key| [key]);
    if let Some(path) = &list
        && !is_array(&result, path[0])
    {
        splice = match result
            .get("toolResult")
            .filter(|_| method.as_str() == method::TOOLS_CALL)
        {
            // Servers of the first drafts answered with `toolResult` instead of `content`.
            Some(earliest) => splice.set(path, &as_text(&earliest)),
            None => splice.set(path, &none),
        };
    }
    splice.finish().unwrap_or(result)
}

/// Member with the list that results of `method` must have.
fn required_list(method: &Method) -> Option<&'static str> {
    method.list_member().or(match method.as_str() {
        method::TOOLS_CALL => Some("content"),
        method::PROMPTS_GET => Some("messages"),
        method::RESOURCES_READ => Some("contents"),
        _ => None,
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

/// The same result, without a `_meta` that is not an object.
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
        let method = Method::new(method);
        assert_eq!(complete(&method, &result, &info).as_str(), expect);
    }

    #[test]
    fn results_get_the_required_members_of_the_newest_revision() {
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
