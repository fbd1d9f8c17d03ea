use callgate_wire::{Id, RawJson, Splice, SpliceError, meta};

use crate::error::Error;

/// Params of a request for an old server: without the members that only this revision has, and with
/// `token` as the progress token, if there is one.
pub(crate) fn old_params(params: &RawJson, token: Option<&Id>) -> Result<RawJson, Error> {
    let splice = without_metadata(params)
        .remove(&["inputResponses"])
        .remove(&["requestState"])
        .remove(&["task"]);
    let splice = match token {
        Some(token) => splice.set(&["_meta", meta::PROGRESS_TOKEN], token.as_raw()),
        None => splice.remove(&["_meta", meta::PROGRESS_TOKEN]),
    };
    finish(splice).map_err(|error| Error::invalid_params(error.to_string()))
}

/// Params of a notification for an old server: without the metadata that only this revision has.
pub(crate) fn old_notification_params(params: &RawJson) -> RawJson {
    finish(without_metadata(params)).unwrap_or_else(|_| params.clone())
}

fn without_metadata(params: &RawJson) -> Splice<'_> {
    Splice::new(params)
        .remove(&["_meta", meta::PROTOCOL_VERSION])
        .remove(&["_meta", meta::CLIENT_CAPABILITIES])
        .remove(&["_meta", meta::CLIENT_INFO])
        .remove(&["_meta", meta::LOG_LEVEL])
}

/// The outcome, without a `_meta` that has nothing left.
fn finish(splice: Splice<'_>) -> Result<RawJson, SpliceError> {
    let params = splice.finish()?;
    if params
        .get("_meta")
        .is_some_and(|meta| meta.members().next().is_none())
    {
        return Splice::new(&params).remove(&["_meta"]).finish();
    }
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_server_sees_nothing_of_the_new_revision() {
        let check = |params: &str, token: Option<&Id>, expect: &str| {
            let params = serde_json::from_str(params).unwrap();
            assert_eq!(old_params(&params, token).unwrap().as_str(), expect);
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
