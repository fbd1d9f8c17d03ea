use callgate_hub::ServerState;
use serde::{Deserialize, Serialize};

use crate::age;
use crate::output::argument;
use crate::server_choice::ToolWord;

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
    /// Milliseconds until the next attempt to connect a server that failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) next_attempt_ms: Option<u64>,
    /// Number of attempts after which a server that failed is no longer tried.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) stopped_after: Option<usize>,
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

impl ServerReport {
    /// A server of which no more than its status is known.
    pub(crate) fn of_status(name: &str, status: Status) -> Self {
        Self {
            name: name.to_owned(),
            status,
            reason: None,
            next_attempt_ms: None,
            stopped_after: None,
            transport: String::new(),
            revision: None,
            tools: None,
            prompts: None,
            resources: None,
            latency_ms: None,
            pid: None,
            restarts: None,
            as_of: None,
            definition: None,
            tool_names: Vec::new(),
        }
    }

    /// When a server that failed is connected again, in words; `None` if that is not known.
    pub(crate) fn outlook(&self) -> Option<String> {
        if let Some(attempts) = self.stopped_after {
            let name = argument(&self.name);
            return Some(format!(
                "stopped after {attempts} attempts; run `callgate list {name}` to try again"
            ));
        }
        let seconds = self.next_attempt_ms?.div_ceil(1_000);
        Some(format!("next attempt in {}", age::span(seconds)))
    }

    /// The reason of the status in one line.
    pub(crate) fn cause_line(&self) -> Option<String> {
        self.reason.as_deref().map(in_one_line)
    }

    /// The reason of the status in one line, with the outlook of a server that failed.
    pub(crate) fn reason_line(&self) -> Option<String> {
        let parts = [self.cause_line(), self.outlook()];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// The first line of a reason, and the last one if that begins a quote: there a program says why it ended.
fn in_one_line(reason: &str) -> String {
    let mut lines = reason.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    match (first.ends_with(':'), lines.next_back()) {
        (true, Some(last)) => format!("{first} {}", last.trim()),
        _ => first.to_owned(),
    }
}

/// Name of a tool for agents, and the one that its server or the configuration gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolName {
    pub(crate) exposed: String,
    pub(crate) own: String,
    /// The name for agents that the tool has beside servers that this process does not have.
    #[serde(default)]
    pub(crate) hashed: String,
}

impl ToolName {
    /// True if a word on the command line means this tool.
    pub(crate) fn is_meant_by(&self, word: ToolWord<'_>) -> bool {
        match word {
            ToolWord::Own(own) => self.own == own,
            ToolWord::Exposed(exposed) => self.exposed == exposed || self.hashed == exposed,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_failed_says_when_it_is_tried_again() {
        let report = |next_attempt_ms, stopped_after| ServerReport {
            reason: Some("connection refused\nat the second line".to_owned()),
            next_attempt_ms,
            stopped_after,
            ..ServerReport::of_status("my server", Status::Failed)
        };
        let check = |report: ServerReport, expect: &str| {
            assert_eq!(report.reason_line().as_deref(), Some(expect));
        };
        check(report(None, None), "connection refused");
        check(
            report(Some(2_100), None),
            "connection refused; next attempt in 3 s",
        );
        check(
            report(None, Some(5)),
            "connection refused; stopped after 5 attempts; run `callgate list 'my server'` to try again",
        );
        let fine = ServerReport::of_status("s", Status::Connected);
        assert_eq!(fine.reason_line(), None);
    }
}
