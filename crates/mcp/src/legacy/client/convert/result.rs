use callgate_wire::content::Content;
use callgate_wire::{Kind, Method, ObjectEdit, RawJson, meta, method};

/// Translates a result of an old server into one of this revision.
///
/// Real servers leave out members that no client ever checked; those are added.
pub(crate) fn complete(method: &Method, result: &RawJson, server_info: &RawJson) -> RawJson {
    let mut edit = ObjectEdit::new(result);
    // A member of this name has no meaning in old revisions, so one that is there is replaced.
    edit.set("resultType", RawJson::string("complete"));
    edit.set("_meta", with_server_info(edit.get("_meta"), server_info));
    if method.is_cacheable() {
        // Lists of an old server may differ from session to session, so no result may be shared or kept.
        let zero = RawJson::encode(&0).expect("a number is always JSON");
        edit.set("ttlMs", zero);
        edit.set("cacheScope", RawJson::string("private"));
    }
    // Some servers write `null` for the cursor of the last page.
    let cursor = edit.get("nextCursor");
    if cursor.is_some_and(|cursor| cursor.kind() == Kind::Null) {
        edit.remove("nextCursor");
    }
    if let Some(key) = required_list(method)
        && edit.get(key).is_none_or(|list| list.kind() != Kind::Array)
    {
        // Servers of the first drafts answered with `toolResult` instead of `content`.
        let earliest = edit.get("toolResult");
        let earliest = earliest.filter(|_| method.as_str() == method::TOOLS_CALL);
        edit.set(key, earliest.as_ref().map_or_else(empty_list, as_text));
    }
    edit.finish()
}

/// The `_meta` of a result with the server's name; one that is not an object is replaced.
fn with_server_info(meta: Option<RawJson>, server_info: &RawJson) -> RawJson {
    let meta = meta.filter(RawJson::is_object);
    let meta = meta.unwrap_or_else(RawJson::empty_object);
    let mut edit = ObjectEdit::new(&meta);
    edit.set(meta::SERVER_INFO, server_info.clone());
    edit.finish()
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

fn empty_list() -> RawJson {
    RawJson::encode::<[u8]>(&[]).expect("a list is always JSON")
}

fn as_text(value: &RawJson) -> RawJson {
    let text = match value.text() {
        Some(text) => text.into_owned(),
        None => value.as_str().to_owned(),
    };
    RawJson::encode(&[Content::text(text)]).expect("content is always JSON")
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
            r#"{"_meta":{"io.modelcontextprotocol/serverInfo":"i"},"nextCursor":"","resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[]}"#,
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
