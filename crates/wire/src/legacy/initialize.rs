//! Handshake that opens a connection.

use serde::{Deserialize, Serialize};

use super::capabilities::{ClientCapabilities, ServerCapabilities};
use crate::implementation::Implementation;
use crate::meta_object::Meta;

/// Parameters of `initialize`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InitializeParams {
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The revision that the client would like to speak.
    pub protocol_version: String,
    /// Capabilities of the client.
    pub capabilities: ClientCapabilities,
    /// Name and version of the client, as it says.
    pub client_info: Implementation,
}

/// Result of `initialize`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InitializeResult {
    /// The revision that both will speak, unless the client hangs up.
    pub protocol_version: String,
    /// Capabilities of the server.
    pub capabilities: ServerCapabilities,
    /// Name and version of the server, as it says.
    pub server_info: Implementation,
    /// Instructions for a model that uses the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Parameters of `notifications/initialized`.
pub type InitializedParams = crate::params::NotificationParams;

impl InitializeParams {
    /// The client would like to speak this revision.
    #[must_use]
    pub fn new(
        protocol_version: impl Into<String>,
        capabilities: ClientCapabilities,
        client_info: Implementation,
    ) -> Self {
        Self {
            meta: None,
            protocol_version: protocol_version.into(),
            capabilities,
            client_info,
        }
    }
}

impl InitializeResult {
    /// Both will speak this revision.
    #[must_use]
    pub fn new(
        protocol_version: impl Into<String>,
        capabilities: ServerCapabilities,
        server_info: Implementation,
    ) -> Self {
        Self {
            protocol_version: protocol_version.into(),
            capabilities,
            server_info,
            instructions: None,
            meta: None,
        }
    }
}
