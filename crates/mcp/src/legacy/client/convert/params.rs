use callgate_wire::{Id, ObjectEdit, RawJson, RawParams, meta};

use crate::error::Error;

/// Members of params that only this revision has.
const NEW_MEMBERS: [&str; 3] = ["inputResponses", "requestState", "task"];

/// Members of `_meta` that only this revision has.
const NEW_META_MEMBERS: [&str; 4] = [
    meta::PROTOCOL_VERSION,
    meta::CLIENT_CAPABILITIES,
    meta::CLIENT_INFO,
    meta::LOG_LEVEL,
];

/// Params of a request for an old server: without the members that only this revision has, and with
/// `token` as the progress token, if there is one.
pub(crate) fn old_params(params: &RawParams, token: Option<&Id>) -> Result<RawJson, Error> {
    let mut edit = params.edit();
    for key in NEW_MEMBERS {
        edit.remove(key);
    }
    let meta = match (params.edit_meta(), token) {
        (None, Some(_)) => return Err(Error::invalid_params("`_meta` is not an object")),
        (None, None) => None,
        (Some(meta), token) => {
            let mut meta = without_new_members(meta);
            meta.set_or_remove(
                meta::PROGRESS_TOKEN,
                token.map(|token| token.as_raw().clone()),
            );
            unless_empty(meta.finish())
        }
    };
    edit.set_or_remove("_meta", meta);
    Ok(edit.finish())
}

/// Params of a notification for an old server: without the metadata that only this revision has.
pub(crate) fn old_notification_params(params: &RawJson) -> RawJson {
    let mut edit = ObjectEdit::new(params);
    if let Some(meta) = edit.get("_meta") {
        let meta = without_new_members(ObjectEdit::new(&meta)).finish();
        edit.set_or_remove("_meta", unless_empty(meta));
    }
    edit.finish()
}

fn without_new_members(mut meta: ObjectEdit<'_>) -> ObjectEdit<'_> {
    for key in NEW_META_MEMBERS {
        meta.remove(key);
    }
    meta
}

/// The `_meta`, if it has any members.
fn unless_empty(meta: RawJson) -> Option<RawJson> {
    let has_members = meta.members().next().is_some();
    has_members.then_some(meta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_server_sees_nothing_of_the_new_revision() {
        let check = |params: &str, token: Option<&Id>, expect: &str| {
            let params: RawJson = serde_json::from_str(params).unwrap();
            let old = old_params(&params.into(), token);
            assert_eq!(old.unwrap().as_str(), expect);
        };
        let token = Id::number(7);
        check("{}", None, "{}");
        check("{}", Some(&token), r#"{"_meta":{"progressToken":7}}"#);
        check(
            r#"{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
                "io.modelcontextprotocol/clientCapabilities":{},
                "io.modelcontextprotocol/clientInfo":{"name":"c"},
                "io.modelcontextprotocol/logLevel":"info"},"task":{}}"#,
            None,
            r#"{"name":"t"}"#,
        );
        check(
            r#"{"_meta":{"progressToken":"theirs","traceparent":"00-1"},"requestState":"s","inputResponses":{},"n":49E-31}"#,
            Some(&token),
            r#"{"_meta":{"progressToken":7,"traceparent":"00-1"},"n":49E-31}"#,
        );
    }
}
