use callgate_wire::legacy::code as old;
use callgate_wire::legacy::elicitation::UrlElicitationRequiredData;
use callgate_wire::{Method, RawJson, code, method};

use crate::error::{Error, Kind};

/// Error for an old client.
///
/// It does not know the codes that 2026-07-28 defines; all others pass unchanged, those of servers
/// included. `opens_urls` is true if it can be told to open a URL first.
pub(crate) fn error(opens_urls: bool, method: &Method, error: Error) -> Error {
    let (message, data) = (error.to_string(), error.data().cloned());
    match error.code() {
        // Best-effort: only the URI distinguishes a missing resource from other invalid params.
        code::INVALID_PARAMS
            if method.as_str() == method::RESOURCES_READ && names_uri(error.data()) =>
        {
            error.recoded(old::RESOURCE_NOT_FOUND, message, data)
        }
        code::MISSING_REQUIRED_CLIENT_CAPABILITY => {
            let required = error
                .data()
                .and_then(|data| data.get("requiredCapabilities"));
            let required = required.as_ref().map_or("unknown", RawJson::as_str);
            let mut message = message;
            // A relay before this server may have set it already.
            if !message.ends_with(required) {
                message = format!("{message}: {required}");
            }
            error.recoded(code::INVALID_PARAMS, message, data)
        }
        // These blame a request of this server, of which its client knows nothing.
        code::HEADER_MISMATCH | code::UNSUPPORTED_PROTOCOL_VERSION => {
            let message = format!("the server cannot be spoken to: {error}");
            error.recoded(code::INTERNAL_ERROR, message, None)
        }
        old::URL_ELICITATION_REQUIRED if !opens_urls => {
            let message = format!("{error}{}", urls(error.data()));
            error.recoded(code::INTERNAL_ERROR, message, None)
        }
        // Old revisions have no code for it but that of any server error.
        _ if error.kind() == Kind::RateLimited => error.recoded(old::SERVER_ERROR, message, data),
        _ => error,
    }
}

fn names_uri(data: Option<&RawJson>) -> bool {
    data.is_some_and(|data| data.get("uri").is_some())
}

/// URLs that the user would have to open, as text.
fn urls(data: Option<&RawJson>) -> String {
    let data: Option<UrlElicitationRequiredData> = data.and_then(|data| data.decode().ok());
    let elicitations = data.unwrap_or_default().elicitations;
    let urls = elicitations
        .into_iter()
        .map(|page| format!(" {}", page.url));
    urls.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    use crate::server::reply;
    use callgate_wire::Limits;

    fn upstream(raw: &str) -> Error {
        let raw = RawJson::parse(raw.to_owned().into(), &Limits::default()).unwrap();
        Error::rpc(&Arc::from("files"), raw)
    }

    fn check(opens_urls: bool, method: &str, given: Error, expect: &str) {
        let seen = error(opens_urls, &Method::new(method), given);
        let seen = RawJson::encode(&reply::to_rpc(&seen)).unwrap();
        assert_eq!(seen.as_str(), expect);
    }

    #[test]
    fn hc_13_a_missing_resource_has_its_old_code_where_it_can_be_told() {
        let missing = r#"{"code":-32602,"message":"no such resource","data":{"uri":"a:b"}}"#;
        let old = r#"{"code":-32002,"message":"no such resource","data":{"uri":"a:b"}}"#;
        check(true, "resources/read", upstream(missing), old);
        check(true, "tools/call", upstream(missing), missing);
        let bad_params = r#"{"code":-32602,"message":"`uri` must be a string"}"#;
        check(true, "resources/read", upstream(bad_params), bad_params);
    }

    #[test]
    fn hc_13_codes_of_the_newest_revision_are_translated_and_others_pass() {
        let needed = RawJson::parse(r#"{"sampling":{}}"#.into(), &Limits::default()).unwrap();
        check(
            true,
            "tools/call",
            Error::missing_capability(&needed),
            r#"{"code":-32602,"message":"the client did not declare a required capability: {\"sampling\":{}}","data":{"requiredCapabilities":{"sampling":{}}}}"#,
        );
        let said = r#"{"code":-32021,"message":"needed: {}","data":{"requiredCapabilities":{}}}"#;
        let expect = said.replace("-32021", "-32602");
        check(true, "tools/call", upstream(said), &expect);
        for code in [-32020, -32022] {
            check(
                true,
                "tools/call",
                upstream(&format!(r#"{{"code":{code},"message":"m","data":{{}}}}"#)),
                r#"{"code":-32603,"message":"the server cannot be spoken to: m"}"#,
            );
        }
        for code in [-32023, -32050, -32000, -32001, 7] {
            let own = format!(r#"{{"code":{code},"message":"m","data":[1.0]}}"#);
            check(true, "tools/call", upstream(&own), &own);
        }
        check(
            true,
            "tools/call",
            Error::new(Kind::Busy, "too much"),
            r#"{"code":42900,"message":"too much"}"#,
        );
        check(
            true,
            "tools/call",
            Error::rate_limited(Duration::from_secs(2)),
            r#"{"code":-32000,"message":"Rate limit exceeded. Please try again later.","data":{"reason":"rate_limited","retryAfterMs":2000}}"#,
        );
    }

    #[test]
    fn hc_21_only_clients_that_open_urls_are_told_to_open_one() {
        let required = r#"{"code":-32042,"message":"sign in","data":{"elicitations":[{"mode":"url","message":"m","elicitationId":"e","url":"https://a.example/x"}]}}"#;
        check(true, "tools/call", upstream(required), required);
        check(
            false,
            "tools/call",
            upstream(required),
            r#"{"code":-32603,"message":"sign in https://a.example/x"}"#,
        );
    }
}
