use callgate_wire::{Id, RawJson, Splice, meta};

use crate::error::Error;

/// Params of a request for an old server: without the members that only this revision has, and with
/// `token` as the progress token, if there is one.
pub(crate) fn old_params(params: &RawJson, token: Option<&Id>) -> Result<RawJson, Error> {
    let splice = Splice::new(params)
        .remove(&["inputResponses"])
        .remove(&["requestState"])
        .remove(&["task"])
        .remove(&["_meta", meta::PROTOCOL_VERSION])
        .remove(&["_meta", meta::CLIENT_CAPABILITIES])
        .remove(&["_meta", meta::CLIENT_INFO])
        .remove(&["_meta", meta::LOG_LEVEL]);
    let splice = match token {
        Some(token) => splice.set(&["_meta", meta::PROGRESS_TOKEN], token.as_raw()),
        None => splice.remove(&["_meta", meta::PROGRESS_TOKEN]),
    };
    let params = splice
        .finish()
        .map_err(|error| Error::invalid_params(error.to_string()))?;
    if params
        .get("_meta")
        .is_some_and(|meta| meta.members().next().is_none())
    {
        return Splice::new(&params)
            .remove(&["_meta"])
            .finish()
            .map_err(|error| Error::invalid_params(error.to_string()));
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
