use callgate_wire::{RawJson, Splice, Version, meta, task};
use serde_json::json;

/// Who we say we are to an old server, in the terms of the newest revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// A `ClientCapabilities` object.
    pub(crate) capabilities: RawJson,
    /// An `Implementation` object.
    pub(crate) client_info: RawJson,
}

impl Identity {
    /// Somebody who can pass on everything that a server may ask of a client.
    pub(crate) fn of_everybody() -> Self {
        let encode = |value| RawJson::encode(&value).expect("a value is always JSON");
        Self {
            capabilities: encode(json!({
                "elicitation": { "form": {}, "url": {} },
                "roots": {},
                "sampling": { "context": {}, "tools": {} },
            })),
            client_info: encode(json!({
                "name": "callgate",
                "version": env!("CARGO_PKG_VERSION"),
            })),
        }
    }

    /// Whether a server may ask anything.
    pub(super) fn can_be_asked(&self) -> bool {
        ["elicitation", "roots", "sampling"]
            .iter()
            .any(|kind| self.capabilities.get(kind).is_some())
    }

    /// The params of `server/discover`.
    pub(super) fn discover_params(&self) -> RawJson {
        RawJson::encode(&json!({
            "_meta": {
                (meta::PROTOCOL_VERSION): Version::LATEST.as_str(),
                (meta::CLIENT_CAPABILITIES): self.capabilities,
                (meta::CLIENT_INFO): self.client_info,
            }
        }))
        .expect("a value is always JSON")
    }

    /// The capabilities as a handshake has them.
    ///
    /// Old servers know tasks without an extension, and clients that have none.
    pub(super) fn old_capabilities(&self) -> RawJson {
        Splice::new(&self.capabilities)
            .remove(&["extensions", task::EXTENSION])
            .finish()
            .unwrap_or_else(|_| RawJson::empty_object())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_does_not_speak_of_the_tasks_of_today() {
        let check = |capabilities: &str, expect: &str| {
            let identity = Identity {
                capabilities: serde_json::from_str(capabilities).unwrap(),
                client_info: RawJson::empty_object(),
            };
            assert_eq!(identity.old_capabilities().as_str(), expect);
        };
        check(r#"{"sampling":{}}"#, r#"{"sampling":{}}"#);
        check(
            r#"{"extensions":{"io.modelcontextprotocol/tasks":{},"a/b":{}}}"#,
            r#"{"extensions":{"a/b":{}}}"#,
        );
    }
}
