use callgate_wire::{Id, RawJson, Splice, Version, meta};

use super::options::CallOptions;
use crate::error::Error;

/// Who a client is and what it can do, as each of its requests says.
#[derive(Debug)]
pub(super) struct Identity {
    /// An `Implementation`.
    pub(super) info: RawJson,
    /// The `ClientCapabilities`.
    pub(super) capabilities: RawJson,
}

/// The params with the `_meta` of a request: the client's own members and those of the options.
///
/// Other members that `params` has in `_meta` stay as they are.
pub(super) fn stamp(
    params: &RawJson,
    identity: &Identity,
    version: Version,
    token: &Id,
    options: &CallOptions,
) -> Result<RawJson, Error> {
    let version = RawJson::string(version.as_str());
    let level = options
        .log_level
        .map(|level| RawJson::encode(&level).expect("a level is JSON"));
    let mut members = vec![
        (meta::PROTOCOL_VERSION, &version),
        (meta::CLIENT_INFO, &identity.info),
        (meta::CLIENT_CAPABILITIES, &identity.capabilities),
        (meta::PROGRESS_TOKEN, token.as_raw()),
    ];
    if let Some(level) = &level {
        members.push((meta::LOG_LEVEL, level));
    }
    for (key, value) in &options.meta {
        if !members.iter().any(|(own, _)| own == key) {
            members.push((key, value));
        }
    }
    let paths: Vec<[&str; 2]> = members.iter().map(|(key, _)| ["_meta", key]).collect();
    let mut splice = Splice::new(params);
    for (path, (_, value)) in paths.iter().zip(members) {
        splice = splice.set(path, value);
    }
    splice.finish().map_err(|error| {
        Error::invalid_params("params and their `_meta` must be objects").with_source(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::logging::LogLevel;

    fn check(params: &str, options: &CallOptions, expect: Option<&str>) {
        let json = |text: &str| serde_json::from_str::<RawJson>(text).unwrap();
        let identity = Identity {
            info: json(r#"{"name":"me","version":"1"}"#),
            capabilities: json(r#"{"roots":{}}"#),
        };
        let token = Id::number(7);
        let stamped = stamp(
            &json(params),
            &identity,
            Version::V2026_07_28,
            &token,
            options,
        );
        assert_eq!(stamped.ok().as_ref().map(RawJson::as_str), expect);
    }

    #[test]
    fn every_request_says_who_asks_and_keeps_what_the_caller_wrote() {
        check(
            r#"{"a":49E-31}"#,
            &CallOptions::default(),
            Some(concat!(
                r#"{"a":49E-31,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
                r#""io.modelcontextprotocol/clientInfo":{"name":"me","version":"1"},"#,
                r#""io.modelcontextprotocol/clientCapabilities":{"roots":{}},"progressToken":7}}"#,
            )),
        );
        check(
            r#"{"_meta":{"x":[1.0],"progressToken":"theirs"},"a":1}"#,
            &CallOptions::default()
                .on_log(LogLevel::Info, |_| {})
                .meta("y", &1)
                .meta("y", &2)
                .meta("progressToken", "ignored"),
            Some(concat!(
                r#"{"_meta":{"x":[1.0],"progressToken":7,"#,
                r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
                r#""io.modelcontextprotocol/clientInfo":{"name":"me","version":"1"},"#,
                r#""io.modelcontextprotocol/clientCapabilities":{"roots":{}},"#,
                r#""io.modelcontextprotocol/logLevel":"info","y":2},"a":1}"#,
            )),
        );
    }

    #[test]
    fn params_that_are_no_object_are_refused() {
        check("[]", &CallOptions::default(), None);
        check(r#"{"_meta":1}"#, &CallOptions::default(), None);
    }
}
