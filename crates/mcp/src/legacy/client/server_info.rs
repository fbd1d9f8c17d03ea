use callgate_wire::cache::CacheScope;
use callgate_wire::legacy::method as old;
use callgate_wire::{Method, RawJson, Splice, Version, meta, method, task};
use serde::Serialize;

use crate::error::Error;
use crate::server::accept::SUPPORTED;

/// Revision, capabilities and name of an old server, from its handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerInfo {
    pub(super) version: Version,
    pub(super) info: RawJson,
    capabilities: RawJson,
    instructions: Option<RawJson>,
    meta: RawJson,
    /// Members of the answer that this client does not know.
    others: Vec<(String, RawJson)>,
}

/// Members of the answer that are read, and members of `server/discover` that it must not set.
const KNOWN: [&str; 9] = [
    "protocolVersion",
    "capabilities",
    "serverInfo",
    "instructions",
    "_meta",
    "resultType",
    "supportedVersions",
    "ttlMs",
    "cacheScope",
];

impl ServerInfo {
    /// Reads an `InitializeResult`.
    ///
    /// # Errors
    /// The revision of the server, which this client does not speak.
    pub(super) fn read(result: &RawJson) -> Result<Self, String> {
        let [version, capabilities, info, instructions, meta] = result.pick([
            "protocolVersion",
            "capabilities",
            "serverInfo",
            "instructions",
            "_meta",
        ]);
        let version = version.as_ref().and_then(RawJson::text).unwrap_or_default();
        // No handshake can agree on the newest revision, which has none.
        let known = Version::parse(&version).filter(|version| !version.is_modern());
        let object = |value: Option<RawJson>| {
            let object = value.filter(RawJson::is_object);
            object.unwrap_or_else(RawJson::empty_object)
        };
        Ok(Self {
            version: known.ok_or_else(|| version.into_owned())?,
            capabilities: object(capabilities),
            info: object(info),
            instructions: instructions.filter(|text| text.text().is_some()),
            meta: object(meta),
            others: result.members_besides(&KNOWN),
        })
    }

    /// True if the server declared the capability at `path`.
    pub(super) fn has(&self, path: &[&str]) -> bool {
        // A capability is an object, but some servers write `false` or `null` for one that they lack.
        self.capabilities
            .at(path)
            .is_some_and(|value| !matches!(value.as_str(), "false" | "null"))
    }

    /// True if tools can be called as tasks.
    pub(super) fn has_tasks(&self) -> bool {
        self.has(&["tasks", "requests", "tools", "call"])
    }

    /// Refuses a method that the server does not have, by its capabilities.
    pub(super) fn check(&self, method: &Method) -> Result<(), Error> {
        let family = method.as_str().split_once('/').map(|(family, _)| family);
        let offered = match (method.as_str(), family) {
            // Requests of old sessions, which this client makes itself.
            (
                old::INITIALIZE
                | old::PING
                | old::LOGGING_SET_LEVEL
                | old::RESOURCES_SUBSCRIBE
                | old::RESOURCES_UNSUBSCRIBE
                | old::TASKS_RESULT
                | old::TASKS_LIST,
                _,
            ) => false,
            (method::COMPLETION_COMPLETE, _) => self.completes(),
            (_, Some("tasks")) => self.has_tasks(),
            (_, Some(family @ ("tools" | "resources" | "prompts"))) => self.has(&[family]),
            _ => true,
        };
        match offered {
            true => Ok(()),
            false => Err(Error::method_not_found(method)),
        }
    }

    /// True if the server completes arguments. The first revision has no capability for that.
    fn completes(&self) -> bool {
        self.has(&["completions"])
            || self.version == Version::V2024_11_05
                && (self.has(&["prompts"]) || self.has(&["resources"]))
    }

    /// The result of `server/discover`.
    pub(super) fn discover(&self) -> RawJson {
        let mut capabilities = Splice::new(&self.capabilities).remove(&["tasks"]);
        if self.has_tasks() {
            capabilities =
                capabilities.set(&["extensions", task::EXTENSION], &RawJson::empty_object());
        }
        if self.completes() && !self.has(&["completions"]) {
            capabilities = capabilities.set(&["completions"], &RawJson::empty_object());
        }
        let capabilities = capabilities
            .finish()
            .unwrap_or_else(|_| RawJson::empty_object());
        let result = Discovered {
            result_type: "complete",
            supported_versions: SUPPORTED.map(Version::as_str),
            capabilities,
            instructions: self.instructions.as_ref(),
            ttl_ms: 0,
            cache_scope: CacheScope::Private,
        };
        let result = RawJson::encode(&result).expect("a result is always JSON");
        let meta = Splice::new(&self.meta).set(&[meta::SERVER_INFO], &self.info);
        let meta = meta.finish().expect("members can be added to an object");
        let result = Splice::new(&result).set(&["_meta"], &meta).finish();
        let result = result.expect("members can be added to an object");
        result.with_members(&self.others)
    }
}

/// A `DiscoverResult` with members that are not decoded.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Discovered<'a> {
    result_type: &'a str,
    supported_versions: [&'a str; SUPPORTED.len()],
    capabilities: RawJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a RawJson>,
    ttl_ms: u64,
    cache_scope: CacheScope,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(version: &str, capabilities: &str) -> ServerInfo {
        let text = format!(
            r#"{{"protocolVersion":"{version}","capabilities":{capabilities},
                "serverInfo":{{"name":"old","version":"1"}},"instructions":"Be kind."}}"#
        );
        ServerInfo::read(&serde_json::from_str(&text).unwrap()).unwrap()
    }

    #[test]
    fn discovery_is_answered_from_the_handshake() {
        let capabilities =
            r#"{"tools":{"listChanged":true},"x":1.0,"tasks":{"requests":{"tools":{"call":{}}}}}"#;
        assert_eq!(
            server("2025-11-25", capabilities).discover().as_str(),
            concat!(
                r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"#,
                r#""capabilities":{"tools":{"listChanged":true},"x":1.0,"#,
                r#""extensions":{"io.modelcontextprotocol/tasks":{}}},"#,
                r#""instructions":"Be kind.","ttlMs":0,"cacheScope":"private","#,
                r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"old","version":"1"}}}"#,
            )
        );
    }

    #[test]
    fn unknown_members_of_the_handshake_pass() {
        let text = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"o","x":1},
            "ttlMs":5,"vendor":{"a":10000000000000000001},"_meta":{"v/k":2}}"#;
        let server = ServerInfo::read(&serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!(
            server.discover().as_str(),
            concat!(
                r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"#,
                r#""capabilities":{},"ttlMs":0,"cacheScope":"private","#,
                r#""_meta":{"v/k":2,"io.modelcontextprotocol/serverInfo":{"name":"o","x":1}},"#,
                r#""vendor":{"a":10000000000000000001}}"#,
            )
        );
    }

    #[test]
    fn a_method_needs_the_capability_that_it_is_behind() {
        let check = |server: &ServerInfo, expect: &[(&str, bool)]| {
            for (method, offered) in expect {
                let checked = server.check(&Method::new(method));
                assert_eq!(checked.is_ok(), *offered, "{method}");
            }
        };
        check(
            &server("2025-11-25", r#"{"tools":{},"prompts":null}"#),
            &[
                ("tools/list", true),
                ("tools/call", true),
                ("prompts/get", false),
                ("resources/templates/list", false),
                ("completion/complete", false),
                ("tasks/get", false),
                ("vendor/own", true),
                ("initialize", false),
                ("ping", false),
                ("logging/setLevel", false),
                ("resources/subscribe", false),
                ("tasks/result", false),
            ],
        );
        check(
            &server("2024-11-05", r#"{"prompts":{}}"#),
            &[("completion/complete", true), ("prompts/list", true)],
        );
    }

    #[test]
    fn a_version_that_we_do_not_speak_is_named() {
        let read = |text: &str| ServerInfo::read(&serde_json::from_str(text).unwrap());
        let version = |text: &str| read(text).unwrap_err();
        assert_eq!(version(r#"{"protocolVersion":"2026-07-28"}"#), "2026-07-28");
        assert_eq!(version(r#"{"protocolVersion":"1999-01-01"}"#), "1999-01-01");
        assert_eq!(version("{}"), "");
    }
}
