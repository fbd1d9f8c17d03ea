use std::sync::OnceLock;

use callgate_wire::{Method, ObjectEdit, RawJson, Version, meta, method};

use super::{content, cursor, tool};

const META: &str = "_meta";

/// Makes a complete result one for a client of `version`. Members that it ignores stay.
pub(crate) fn result<'a>(
    version: Version,
    method: &Method,
    result: &'a RawJson,
    server: &ServerMeta,
) -> ObjectEdit<'a> {
    let mut edit = server.removed_from(result);
    edit.remove("resultType");
    if method.is_cacheable() {
        edit.remove("ttlMs");
        edit.remove("cacheScope");
    }
    // Methods that are unknown here may have pages too.
    if method.as_str() != method::TOOLS_CALL {
        change(&mut edit, "nextCursor", cursor::encode);
    }
    match method.as_str() {
        method::TOOLS_LIST => change(&mut edit, "tools", tool::tools),
        method::TOOLS_CALL => called(version, &mut edit),
        method::PROMPTS_GET => change(&mut edit, "messages", |messages| {
            content::messages(version, messages)
        }),
        _ => {}
    }
    edit
}

/// Metadata of results with nothing but the server, which old clients do not know.
///
/// All results of a server have the same: after the first one it is known by its bytes, and not read
/// again.
#[derive(Debug, Default)]
pub(crate) struct ServerMeta(OnceLock<RawJson>);

impl ServerMeta {
    /// Maximum bytes that are remembered: a server describes itself as it likes.
    const MAX_BYTES: usize = 4096;

    /// Starts editing a result, without the server in its metadata.
    fn removed_from<'a>(&self, result: &'a RawJson) -> ObjectEdit<'a> {
        let Some(known) = self.0.get() else {
            let mut edit = ObjectEdit::new(result);
            remove_meta(&mut edit, meta::SERVER_INFO);
            if let Some(meta) = edit.get(META).filter(|_| edit.has_removed(META))
                && meta.as_bytes().len() <= Self::MAX_BYTES
            {
                // A copy, which does not keep the rest of the result in memory.
                self.0
                    .get_or_init(|| RawJson::encode(&meta).expect("JSON is always JSON"));
            }
            return edit;
        };
        let mut edit = ObjectEdit::without(result, META, known);
        if !edit.has_removed(META) {
            remove_meta(&mut edit, meta::SERVER_INFO);
        }
        edit
    }
}

fn called(version: Version, result: &mut ObjectEdit<'_>) {
    let structured = result.get("structuredContent");
    if structured.is_none() && content::knows_every_kind(version) {
        return;
    }
    let content = result.get("content");
    let known = content
        .as_ref()
        .and_then(|content| content::blocks(version, content));
    let wrapped = structured.as_ref().and_then(tool::structured);
    let with_text = structured.as_ref().and_then(|structured| {
        let content = known.as_ref().or(content.as_ref());
        tool::with_text(content, structured)
    });
    if let Some(content) = with_text.or(known) {
        result.set("content", content);
    }
    if let Some(wrapped) = wrapped {
        result.set("structuredContent", wrapped);
    }
}

/// Replaces a member by what `convert` makes of it, if anything.
fn change<'a>(
    edit: &mut ObjectEdit<'a>,
    key: &'a str,
    convert: impl FnOnce(&RawJson) -> Option<RawJson>,
) {
    if let Some(changed) = edit.get(key).and_then(|value| convert(&value)) {
        edit.set(key, changed);
    }
}

/// Removes a member of the `_meta` of an object; all of `_meta`, if there is nothing else.
pub(crate) fn remove_meta(object: &mut ObjectEdit<'_>, key: &str) {
    let Some(meta) = object.get(META).filter(RawJson::is_object) else {
        return;
    };
    let mut members = meta.members();
    if members.next().is_some_and(|first| first.is(key)) && members.next().is_none() {
        return object.remove(META);
    }
    let mut edit = ObjectEdit::new(&meta);
    if edit.get(key).is_none() {
        return;
    }
    edit.remove(key);
    object.set(META, edit.finish());
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::Limits;

    fn check(method: &str, given: &str, expect: &str) {
        let given = RawJson::parse(given.to_owned().into(), &Limits::default()).unwrap();
        let server = ServerMeta::default();
        // The metadata of the first result is known in the second one.
        for _ in 0..2 {
            let seen = result(Version::V2025_03_26, &Method::new(method), &given, &server);
            assert_eq!(seen.finish().as_str(), expect);
        }
    }

    #[test]
    fn members_of_the_newest_revision_are_left_out() {
        check(
            "tools/list",
            r#"{"resultType":"complete","tools":[],"nextCursor":"","ttlMs":5,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}}}"#,
            r#"{"tools":[],"nextCursor":"~"}"#,
        );
        check(
            "x/y",
            r#"{"resultType":"complete","ttlMs":5,"n":1e2,"_meta":{"a":1,"io.modelcontextprotocol/serverInfo":{}}}"#,
            r#"{"ttlMs":5,"n":1e2,"_meta":{"a":1}}"#,
        );
    }

    #[test]
    fn tools_answer_with_content_that_the_client_knows() {
        check(
            "tools/call",
            r#"{"content":[{"type":"resource_link","uri":"a:b","name":"n"}],"structuredContent":[1.0],"resultType":"complete","isError":true}"#,
            r#"{"content":[{"type":"text","text":"n: a:b"}],"structuredContent":{"result":[1.0]},"isError":true}"#,
        );
        check(
            "tools/call",
            r#"{"resultType":"complete","structuredContent":{"a":1}}"#,
            r#"{"structuredContent":{"a":1},"content":[{"type":"text","text":"{\"a\":1}"}]}"#,
        );
    }

    #[test]
    fn prompts_have_content_that_the_client_knows() {
        check(
            "prompts/get",
            r#"{"resultType":"complete","messages":[{"role":"user","content":{"type":"resource_link","uri":"a:b","name":"n"}}]}"#,
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"n: a:b"}}]}"#,
        );
    }
}
