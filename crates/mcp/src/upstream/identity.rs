use callgate_wire::capabilities::ClientCapabilities;
use callgate_wire::{RawJson, Version, meta};
use serde_json::json;

/// Name and capabilities of this client, as a server is told, in the terms of the newest revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientIdentity {
    /// A `ClientCapabilities` object.
    pub(crate) capabilities: RawJson,
    /// An `Implementation` object.
    pub(crate) client_info: RawJson,
}

impl ClientIdentity {
    /// The identity of a connection that is shared by all callers: without `capabilities` it can pass
    /// on every question that a server may ask a client.
    pub(crate) fn shared(capabilities: Option<&ClientCapabilities>) -> Self {
        let encode = |value| RawJson::encode(&value).expect("a value is always JSON");
        let everything = || {
            encode(json!({
                "elicitation": { "form": {}, "url": {} },
                "roots": {},
                "sampling": { "context": {}, "tools": {} },
            }))
        };
        let told = |capabilities| RawJson::encode(capabilities).expect("capabilities are JSON");
        Self {
            capabilities: capabilities.map_or_else(everything, told),
            client_info: encode(json!({
                "name": "callgate",
                "version": env!("CARGO_PKG_VERSION"),
            })),
        }
    }

    pub(crate) fn discover_params(&self) -> RawJson {
        RawJson::encode(&json!({
            "_meta": {
                (meta::PROTOCOL_VERSION): Version::LATEST.as_str(),
                (meta::CLIENT_CAPABILITIES): self.capabilities,
                (meta::CLIENT_INFO): self.client_info,
            }
        }))
        .expect("a value is always JSON")
    }
}
