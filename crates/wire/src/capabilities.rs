//! Capabilities of clients and servers.

use serde::{Deserialize, Serialize};

use crate::map::Map;
use crate::raw::RawJson;

/// Capabilities of a client, sent with every request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientCapabilities {
    /// Experiments, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Map<RawJson>>,
    /// It lists its roots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<RawJson>,
    /// It asks its model for messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    /// It asks its user for input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
    /// Extensions with their settings, by identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Map<RawJson>>,
}

/// Sampling capability of a client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SamplingCapability {
    /// It adds context of servers (`includeContext`); deprecated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<RawJson>,
    /// It gives tools to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<RawJson>,
}

/// Elicitation capability of a client; without a mode it means forms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitationCapability {
    /// It shows forms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<RawJson>,
    /// It opens URLs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<RawJson>,
}

/// Capabilities of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerCapabilities {
    /// Experiments, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Map<RawJson>>,
    /// It sends log messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<RawJson>,
    /// It completes arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<RawJson>,
    /// It has prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<ListCapability>,
    /// It has resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesCapability>,
    /// It has tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ListCapability>,
    /// Extensions with their settings, by identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Map<RawJson>>,
}

/// Capability of a server for its list of prompts or tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListCapability {
    /// Sends a notification when the list changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
}

/// Capability of a server for its resources.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourcesCapability {
    /// Sends a notification when a resource changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscribe: Option<bool>,
    /// Sends a notification when the list changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
}

impl ClientCapabilities {
    /// The same capabilities with an extension and its settings.
    #[must_use]
    pub fn with_extension(mut self, identifier: &str, settings: RawJson) -> Self {
        let extensions = self.extensions.get_or_insert_default();
        extensions.insert(identifier, settings);
        self
    }

    /// True if the client supports this extension.
    #[must_use]
    pub fn has_extension(&self, identifier: &str) -> bool {
        let extensions = self.extensions.as_ref();
        extensions.is_some_and(|extensions| extensions.contains(identifier))
    }
}

impl ElicitationCapability {
    /// True if the client shows forms.
    #[must_use]
    pub fn has_form(&self) -> bool {
        self.form.is_some() || self.url.is_none()
    }

    /// True if the client opens URLs.
    #[must_use]
    pub fn has_url(&self) -> bool {
        self.url.is_some()
    }
}

impl ListCapability {
    /// A list with notifications of its changes.
    #[must_use]
    pub const fn with_notifications() -> Self {
        Self {
            list_changed: Some(true),
        }
    }
}

impl ResourcesCapability {
    /// Resources with notifications of changes, of the list and of single resources.
    #[must_use]
    pub const fn with_notifications() -> Self {
        Self {
            subscribe: Some(true),
            list_changed: Some(true),
        }
    }
}

impl ServerCapabilities {
    /// The same capabilities with an extension and its settings.
    #[must_use]
    pub fn with_extension(mut self, identifier: &str, settings: RawJson) -> Self {
        let extensions = self.extensions.get_or_insert_default();
        extensions.insert(identifier, settings);
        self
    }

    /// True if the server supports this extension.
    #[must_use]
    pub fn has_extension(&self, identifier: &str) -> bool {
        let extensions = self.extensions.as_ref();
        extensions.is_some_and(|extensions| extensions.contains(identifier))
    }
}
