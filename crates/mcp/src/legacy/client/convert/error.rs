use std::ops::RangeInclusive;
use std::sync::Arc;

use callgate_wire::legacy::code as old;
use callgate_wire::legacy::elicitation::UrlElicitationRequiredData;
use callgate_wire::{RawJson, RpcError, code, method};
use serde_json::json;

use crate::error::Error;

/// Meaning of an error of an old server.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The call failed.
    Error(Error),
    /// The user has to open URLs first, and then the call may be made again.
    Urls(UrlElicitationRequiredData),
}

/// Codes that the specification reserves since 2026-07-28; before, servers used them freely.
const RESERVED: RangeInclusive<i64> = -32099..=-32020;

/// Translates an error into the terms of this revision.
pub(crate) fn read_failure(
    name: &Arc<str>,
    method: &str,
    params: &RawJson,
    error: Error,
) -> Failure {
    let Some(raw) = error.raw() else {
        return Failure::Error(error);
    };
    let Ok(rpc) = raw.decode::<RpcError>() else {
        return Failure::Error(error);
    };
    let urls = || {
        rpc.data
            .as_ref()?
            .decode::<UrlElicitationRequiredData>()
            .ok()
    };
    let mapped = match rpc.code {
        // Only here does the code have this meaning: for other methods it is a code of the server itself.
        old::RESOURCE_NOT_FOUND if method == method::RESOURCES_READ => not_found(params, rpc),
        // Before the reserved codes, among which this one is.
        old::URL_ELICITATION_REQUIRED
            if let Some(urls) = urls()
                && !urls.elicitations.is_empty() =>
        {
            return Failure::Urls(urls);
        }
        code::INVALID_PARAMS if requires_capabilities(&rpc) => missing_capability(rpc),
        code if RESERVED.contains(&code) => private(rpc),
        _ => return Failure::Error(error),
    };
    let raw = RawJson::encode(&mapped).expect("an error is always JSON");
    Failure::Error(Error::rpc(name, raw))
}

/// True if the data of an error name the capabilities that the client lacks, as our relays do.
fn requires_capabilities(error: &RpcError) -> bool {
    let required = error
        .data
        .as_ref()
        .and_then(|data| data.get("requiredCapabilities"));
    required.is_some_and(|required| required.is_object())
}

fn not_found(params: &RawJson, error: RpcError) -> RpcError {
    let known = error.data.filter(|data| data.get("uri").is_some());
    let data = known.or_else(|| RawJson::encode(&json!({ "uri": params.get("uri")? })).ok());
    let mut found = RpcError::new(code::INVALID_PARAMS, error.message);
    found.data = data;
    found
}

fn missing_capability(mut error: RpcError) -> RpcError {
    error.code = code::MISSING_REQUIRED_CLIENT_CAPABILITY;
    error
}

/// Replaces a code that has a meaning today, and keeps the original error as data.
fn private(error: RpcError) -> RpcError {
    let original = RawJson::encode(&error).expect("an error is always JSON");
    RpcError::new(code::INTERNAL_ERROR, error.message).with_data(original)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> RawJson {
        serde_json::from_str(text).unwrap()
    }

    fn check(method: &str, error: &str, expect: &str) {
        let name = Arc::from("old");
        let params = json(r#"{"uri":"a:b"}"#);
        match read_failure(&name, method, &params, Error::rpc(&name, json(error))) {
            Failure::Error(error) => {
                assert_eq!(error.raw().unwrap().as_str(), expect);
            }
            Failure::Urls(urls) => assert_eq!(format!("{} urls", urls.elicitations.len()), expect),
        }
    }

    #[test]
    fn a_resource_that_is_not_there_is_an_invalid_parameter() {
        check(
            "resources/read",
            r#"{"code":-32002,"message":"no"}"#,
            r#"{"code":-32602,"message":"no","data":{"uri":"a:b"}}"#,
        );
        check(
            "resources/read",
            r#"{"code":-32002,"message":"no","data":{"uri":"a:c","x":1}}"#,
            r#"{"code":-32602,"message":"no","data":{"uri":"a:c","x":1}}"#,
        );
        let elsewhere = r#"{"code":-32002,"message":"no"}"#;
        check("tools/call", elsewhere, elsewhere);
    }

    #[test]
    fn codes_that_have_a_meaning_now_are_not_passed_on() {
        for code in [-32020, -32021, -32022, -32042, -32099] {
            check(
                "tools/call",
                &format!(r#"{{"code":{code},"message":"own","data":[1.0]}}"#),
                &format!(
                    r#"{{"code":-32603,"message":"own","data":{{"code":{code},"message":"own","data":[1.0]}}}}"#
                ),
            );
        }
        for code in [-32000, -32019, -32100, -32602, 7] {
            let error = format!(r#"{{"code":{code},"message":"own","data":[1.0]}}"#);
            check("tools/call", &error, &error);
        }
    }

    #[test]
    fn a_missing_capability_is_known_by_its_data() {
        check(
            "tools/call",
            r#"{"code":-32602,"message":"no","data":{"requiredCapabilities":{"sampling":{}}}}"#,
            r#"{"code":-32021,"message":"no","data":{"requiredCapabilities":{"sampling":{}}}}"#,
        );
    }

    #[test]
    fn urls_to_open_first_are_found() {
        check(
            "tools/call",
            r#"{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://a.example","message":"m"}]}}"#,
            "1 urls",
        );
    }
}
