//! Capabilities of clients and servers, for a whole connection.
//!
//! The member `extensions` is in none of these schemas, but peers negotiate extensions in it all
//! the same.

use serde::{Deserialize, Serialize};

use crate::capabilities::{
    ElicitationCapability, ListCapability, ResourcesCapability, SamplingCapability,
};
use crate::map::Map;
use crate::raw::RawJson;

/// Capabilities of a client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientCapabilities {
    /// Experiments, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Map<RawJson>>,
    /// It lists its roots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<ListCapability>,
    /// It asks its model for messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    /// It asks its user for input; since 2025-06-18.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
    /// It has tasks; only in 2025-11-25.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<TasksCapability<ClientTaskRequests>>,
    /// Extensions with their settings, by identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Map<RawJson>>,
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
    /// It completes arguments; since 2025-03-26.
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
    /// It has tasks; only in 2025-11-25.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<TasksCapability<ServerTaskRequests>>,
    /// Extensions with their settings, by identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Map<RawJson>>,
}

/// Task capability of one side; the requests that may become a task depend on the side.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TasksCapability<Requests> {
    /// Support of `tasks/list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<RawJson>,
    /// Support of `tasks/cancel`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel: Option<RawJson>,
    /// The requests that may become a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<Requests>,
}

/// The requests to a client that may become a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientTaskRequests {
    /// Requests of sampling that may become a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingTaskRequests>,
    /// Requests of elicitation that may become a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationTaskRequests>,
}

/// The requests of sampling that may become a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SamplingTaskRequests {
    /// Set if `sampling/createMessage` may become a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create_message: Option<RawJson>,
}

/// The requests of elicitation that may become a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitationTaskRequests {
    /// Set if `elicitation/create` may become a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create: Option<RawJson>,
}

/// The requests to a server that may become a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerTaskRequests {
    /// Requests of tools that may become a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolsTaskRequests>,
}

/// The requests of tools that may become a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolsTaskRequests {
    /// Set if `tools/call` may become a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<RawJson>,
}

impl TasksCapability<ServerTaskRequests> {
    /// Tool calls may become tasks, which can be listed and cancelled.
    #[must_use]
    pub fn of_tool_calls() -> Self {
        let supported = || Some(RawJson::empty_object());
        let tools = ToolsTaskRequests { call: supported() };
        Self {
            list: supported(),
            cancel: supported(),
            requests: Some(ServerTaskRequests { tools: Some(tools) }),
        }
    }
}
