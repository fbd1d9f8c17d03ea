use callgate_hub::{ServerName, ServerState, ServerStatus};
use tokio::time::Instant;

use super::plan::{Member, MemberConnection};
use super::report::{ServerReport, Status};
use crate::instance::ProcessIdentity;

/// A server of the gateway.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) name: ServerName,
    pub(super) fingerprint: String,
    pub(super) kind: EntryKind,
    /// Reason why it is not a server of the hub.
    pub(super) problem: Option<(Status, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EntryKind {
    BuiltIn,
    Attached(ProcessIdentity),
    Configured {
        definition: String,
        transport: &'static str,
    },
}

impl Entry {
    /// State of the server, as the hub tells it if it is there.
    pub(super) fn report(&self, status: Option<&ServerStatus>) -> ServerReport {
        let (definition, transport) = match &self.kind {
            EntryKind::BuiltIn => (None, "built-in"),
            EntryKind::Attached(_) => (None, "http"),
            EntryKind::Configured {
                definition,
                transport,
            } => (Some(definition.clone()), *transport),
        };
        let problem = self.problem.clone();
        let is_listed = |status: &&ServerStatus| status.listed || status.info.is_some();
        let listed = status.filter(is_listed);
        let state = status.map_or(Status::Failed, |status| Status::of_state(status.state));
        let reason = status
            .filter(|status| Status::of_state(status.state) != Status::Connected)
            .and_then(|status| status.reason.as_deref().map(str::to_owned));
        let (status_shown, reason) = match problem {
            Some((problem, reason)) => (problem, Some(reason)),
            None => (state, reason),
        };
        let latency = status.and_then(|status| status.latency);
        ServerReport {
            name: self.name.to_string(),
            status: status_shown,
            reason,
            next_attempt_ms: status.and_then(next_attempt_ms),
            stopped_after: status.and_then(|status| match status.state {
                ServerState::Stopped { attempts } => Some(attempts),
                _ => None,
            }),
            transport: transport.to_owned(),
            revision: status
                .and_then(|status| status.version)
                .map(|version| version.as_str().to_owned()),
            tools: listed.map(|status| status.tools),
            prompts: listed.map(|status| status.prompts),
            resources: listed.map(|status| status.resources),
            latency_ms: latency.map(|it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX)),
            pid: status.and_then(|status| status.process_id),
            restarts: status.map(|status| status.restarts),
            as_of: None,
            definition,
            tool_names: Vec::new(),
        }
    }
}

impl EntryKind {
    pub(super) fn of(member: &Member) -> Self {
        match &member.connection {
            MemberConnection::Attached { process, .. } => Self::Attached(*process),
            MemberConnection::Own(server) => Self::Configured {
                definition: server.process_hash().to_string(),
                transport: server.definition.transport(),
            },
        }
    }
}

/// Milliseconds until the next attempt to connect a server that failed.
fn next_attempt_ms(status: &ServerStatus) -> Option<u64> {
    let ServerState::Failed { retry_at } = status.state else {
        return None;
    };
    let wait = retry_at.duration_since(Instant::now());
    Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
}
