use callgate_hub::ServerState;
use serde::{Deserialize, Serialize};

/// Private method of a gateway: the state of its servers, for other processes of the same user.
pub(crate) const SERVERS_METHOD: &str = "callgate/servers";

/// Params of [`SERVERS_METHOD`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ServersParams {
    /// The only server to tell about, with the names of its tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    /// Milliseconds to wait until it is connected or has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wait: Option<u64>,
}

/// Result of [`SERVERS_METHOD`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServersResult {
    pub(crate) result_type: String,
    pub(crate) servers: Vec<ServerReport>,
}

/// State of one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerReport {
    pub(crate) name: String,
    pub(crate) status: Status,
    /// Reason of the status, if it is not a good one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) reason: Option<String>,
    /// `stdio`, `http`, `sse` or `built-in`.
    pub(crate) transport: String,
    /// Revision of the protocol.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) revision: Option<String>,
    /// Numbers of items; `None` if they are not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) tools: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) prompts: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) resources: Option<usize>,
    /// Milliseconds that the connection took.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) latency_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) restarts: Option<u64>,
    /// Time at which the numbers were true, in seconds since 1970, if it is not now.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) as_of: Option<u64>,
    /// Hash of the definition.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) definition: Option<String>,
    /// The tools, if one server was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) tool_names: Vec<ToolName>,
}

/// Name of a tool for agents, and the one that its server or the configuration gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolName {
    pub(crate) exposed: String,
    pub(crate) own: String,
}

/// Status of a server in listings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Connected,
    Connecting,
    /// Not connected because it is not used at the moment.
    Idle,
    Disabled,
    Failed,
    NeedsAuth,
    NeedsClientRegistration,
    /// Defined in a file that the user has not trusted.
    Untrusted,
}

impl Status {
    pub(crate) fn of_state(state: ServerState) -> Self {
        match state {
            ServerState::Disabled => Self::Disabled,
            ServerState::Idle => Self::Idle,
            ServerState::Connecting => Self::Connecting,
            ServerState::Connected => Self::Connected,
            ServerState::NeedsAuth => Self::NeedsAuth,
            ServerState::NeedsClientRegistration => Self::NeedsClientRegistration,
            _ => Self::Failed,
        }
    }

    /// The status in words.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Connecting => "connecting",
            Self::Idle => "idle",
            Self::Disabled => "disabled",
            Self::Failed => "failed",
            Self::NeedsAuth => "needs login",
            Self::NeedsClientRegistration => "needs client registration",
            Self::Untrusted => "untrusted",
        }
    }
}
