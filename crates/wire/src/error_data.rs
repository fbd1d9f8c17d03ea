//! Error data: the member `data` of the errors of this revision.

use serde::{Deserialize, Serialize};

use crate::capabilities::ClientCapabilities;
use crate::raw::RawJson;
use crate::rpc_error::{RpcError, code};

/// The data of a `MissingRequiredClientCapability` error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MissingRequiredClientCapabilityData {
    /// Capabilities that the client lacks.
    pub required_capabilities: ClientCapabilities,
}

/// The data of an `UnsupportedProtocolVersion` error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnsupportedProtocolVersionData {
    /// The revisions that the server speaks.
    pub supported: Vec<String>,
    /// The revision that the request speaks.
    pub requested: String,
}

impl From<MissingRequiredClientCapabilityData> for RpcError {
    fn from(data: MissingRequiredClientCapabilityData) -> Self {
        Self::new(
            code::MISSING_REQUIRED_CLIENT_CAPABILITY,
            "the request needs a capability that its client did not declare",
        )
        .with_data(RawJson::encode(&data).expect("error data is always JSON"))
    }
}

impl From<UnsupportedProtocolVersionData> for RpcError {
    fn from(data: UnsupportedProtocolVersionData) -> Self {
        Self::new(
            code::UNSUPPORTED_PROTOCOL_VERSION,
            format!("unsupported protocol version `{}`", data.requested),
        )
        .with_data(RawJson::encode(&data).expect("error data is always JSON"))
    }
}
