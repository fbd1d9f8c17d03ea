use callgate_wire::{Method, RawJson, Splice, Version, meta, method};

use super::{content, cursor, tool};

/// Complete result for a client of `version`. Members that it ignores stay.
pub(crate) fn result(version: Version, method: &Method, result: &RawJson) -> RawJson {
    let mut splice = Splice::new(result).remove(&["resultType"]);
    splice = remove_meta(splice, result, &["_meta", meta::SERVER_INFO]);
    if method.is_cacheable() {
        splice = splice.remove(&["ttlMs"]).remove(&["cacheScope"]);
    }
    if let Some(cursor) = result
        .get("nextCursor")
        .and_then(|next| cursor::encode(&next))
    {
        splice = splice.set(&["nextCursor"], &cursor);
    }
    splice = match method.as_str() {
        method::TOOLS_LIST => {
            let tools = result.get("tools").and_then(|tools| tool::tools(&tools));
            set(splice, &["tools"], tools)
        }
        method::TOOLS_CALL => called(version, result, splice),
        method::PROMPTS_GET => {
            let messages = result.get("messages");
            let messages = messages.and_then(|messages| content::messages(version, &messages));
            set(splice, &["messages"], messages)
        }
        _ => splice,
    };
    splice
        .finish()
        .expect("each member of a result is edited once")
}

fn called<'a>(version: Version, result: &RawJson, splice: Splice<'a>) -> Splice<'a> {
    let [content, structured] = result.pick(["content", "structuredContent"]);
    let known = content
        .as_ref()
        .and_then(|content| content::blocks(version, content));
    let wrapped = structured.as_ref().and_then(tool::structured);
    let with_text = structured.as_ref().and_then(|structured| {
        let content = known.as_ref().or(content.as_ref());
        tool::with_text(content, structured)
    });
    let splice = set(splice, &["content"], with_text.or(known));
    set(splice, &["structuredContent"], wrapped)
}

fn set<'a>(splice: Splice<'a>, path: &'a [&'a str], value: Option<RawJson>) -> Splice<'a> {
    match value {
        Some(value) => splice.set(path, &value),
        None => splice,
    }
}

/// Removes a member of the `_meta` of `value`; all of `_meta`, if there is nothing else.
pub(crate) fn remove_meta<'a>(
    splice: Splice<'a>,
    value: &RawJson,
    path: &'a [&'a str; 2],
) -> Splice<'a> {
    let is_alone = value.get("_meta").is_some_and(|meta| {
        let mut members = meta.members();
        let first = members.next();
        first.is_some_and(|member| member.is(path[1])) && members.next().is_none()
    });
    match is_alone {
        true => splice.remove(&["_meta"]),
        false => splice.remove(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::Limits;

    fn check(method: &str, given: &str, expect: &str) {
        let given = RawJson::parse(given.to_owned().into(), &Limits::default()).unwrap();
        let seen = result(Version::V2025_03_26, &Method::new(method), &given);
        assert_eq!(seen.as_str(), expect);
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
