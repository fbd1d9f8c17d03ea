use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callgate_hub::{
    Hub, HubConfig, ItemNames, Naming, ServerConfig, ServerName, ServerState, ServerStatus,
    StatusChanges, ToolPattern,
};
use callgate_mcp::router::Router;
use callgate_mcp::transport::child::CloseBy;
use callgate_mcp::wire::capabilities::ClientCapabilities;
use callgate_mcp::wire::method;
use callgate_mcp::{BoxFuture, Call, Error, RawJson, Reply, Service};
use tokio::time::Instant;

use super::attach::AttachConnector;
use super::builtin::BuiltInConnector;
use super::catalog_files::CatalogFiles;
use super::limited_results::WHOLE_RESULTS;
use super::member_config::server_config;
use super::plan::{Member, MemberConnection};
use super::report::{SERVERS_METHOD, ServerReport, ServersParams, ServersResult, Status, ToolName};
use crate::error::CommandError;
use crate::instance::ServerRecord;
use crate::server;

/// The hub with the servers of the configuration and of this process.
///
/// It answers the private method [`SERVERS_METHOD`] and leaves all others to the hub.
pub(crate) struct Gateway {
    hub: Hub,
    settings: GatewaySettings,
    /// In the order of the configuration.
    entries: Mutex<Vec<Entry>>,
    /// Time until which lists wait for servers that were never listed.
    first_lists: Instant,
}

/// Settings of a [`Gateway`].
#[derive(Clone, Default)]
pub(crate) struct GatewaySettings {
    pub(crate) data_dir: Option<PathBuf>,
    /// Capabilities that programs are told of; all where there are none.
    pub(crate) capabilities: Option<ClientCapabilities>,
    /// Kept catalogs; `None` if none are kept.
    pub(crate) catalogs: Option<CatalogFiles>,
    pub(crate) naming: Naming,
    /// Time of a call without an answer or progress, in place of that of the server.
    pub(crate) call_timeout: Option<Duration>,
    pub(crate) max_subscriptions: Option<usize>,
    /// Process that waits for the exit of programs.
    pub(crate) close_by: CloseBy,
    /// True if servers are used although the configuration turns them off: the user names them.
    pub(crate) uses_disabled: bool,
}

/// A server of the gateway.
#[derive(Debug, Clone)]
struct Entry {
    name: ServerName,
    fingerprint: String,
    kind: EntryKind,
    /// Reason why it is not a server of the hub.
    problem: Option<(Status, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum EntryKind {
    BuiltIn,
    Attached,
    Configured {
        definition: String,
        transport: &'static str,
    },
}

/// Name of the workspace tools as a server.
pub(crate) const WORKSPACE: &str = "workspace";

/// Time for which the first lists wait for servers that are being connected: many clients read their lists only
/// once. A server that was listed before is not waited for.
const FIRST_LISTS: Duration = Duration::from_secs(8);

impl Gateway {
    /// A gateway without servers. Needs a tokio runtime.
    pub(crate) fn new(settings: GatewaySettings) -> Self {
        let mut config = HubConfig::new(server::own_name());
        config.naming = settings.naming;
        if let Some(max) = settings.max_subscriptions {
            config.max_subscriptions = max;
        }
        Self {
            hub: Hub::new(config),
            settings,
            entries: Mutex::default(),
            first_lists: Instant::now() + FIRST_LISTS,
        }
    }

    /// Adds the workspace tools, which keep their names, and waits until they are listed.
    pub(crate) async fn add_workspace(&self, router: Arc<Router>) -> Result<(), CommandError> {
        let name = ServerName::new(WORKSPACE).expect("the name is valid");
        let mut config = ServerConfig::new(name.clone(), Arc::new(BuiltInConnector(router)));
        config.item_names = ItemNames::Own;
        self.hub.add(config).map_err(anyhow::Error::from)?;
        self.entries().push(Entry {
            name: name.clone(),
            fingerprint: String::new(),
            kind: EntryKind::BuiltIn,
            problem: None,
        });
        self.wait(&name, FIRST_LISTS).await;
        Ok(())
    }

    /// Makes these the servers of the gateway; those that stay the same stay connected. The caller makes one such
    /// change at a time.
    pub(crate) async fn apply(&self, members: &[Member]) {
        let (removed, added) = self.difference(members);
        // A server may hold a file or a port that its next process needs.
        for name in &removed {
            self.hub.remove(name).await;
        }
        let mut problems = HashMap::new();
        for member in &added {
            if let Err(problem) = self.add(member) {
                problems.insert(member.name.clone(), problem);
            }
        }
        let mut entries = self.entries();
        let mut problem_of = |name: &ServerName, fingerprint: &str| {
            let is_same = |entry: &&Entry| entry.name == *name && entry.fingerprint == fingerprint;
            let before = entries.iter().find(is_same);
            let before = before.and_then(|entry| entry.problem.clone());
            problems.remove(name).or(before)
        };
        let now: Vec<Entry> = members
            .iter()
            .map(|member| Entry {
                name: member.name.clone(),
                fingerprint: member.fingerprint.clone(),
                kind: kind_of(member),
                problem: problem_of(&member.name, &member.fingerprint),
            })
            .collect();
        entries.retain(|entry| entry.kind == EntryKind::BuiltIn);
        entries.extend(now);
    }

    /// Servers to remove, and those to add.
    fn difference<'a>(&self, members: &'a [Member]) -> (Vec<ServerName>, Vec<&'a Member>) {
        let entries = self.entries();
        let is_kept = |entry: &Entry| {
            let mut members = members.iter();
            members
                .any(|member| member.name == entry.name && member.fingerprint == entry.fingerprint)
        };
        let removed = entries
            .iter()
            .filter(|entry| entry.kind != EntryKind::BuiltIn && !is_kept(entry))
            .map(|entry| entry.name.clone());
        let is_new = |member: &&Member| {
            let mut entries = entries.iter();
            !entries
                .any(|entry| member.name == entry.name && member.fingerprint == entry.fingerprint)
        };
        (removed.collect(), members.iter().filter(is_new).collect())
    }

    fn add(&self, member: &Member) -> Result<(), (Status, String)> {
        let failed = |error: CommandError| (Status::Failed, error.message_line());
        let config = match &member.connection {
            MemberConnection::Own(server) if !server.trusted => {
                let path = server.origin.path.display();
                return Err((Status::Untrusted, format!("{path} is not trusted")));
            }
            MemberConnection::Own(server) => {
                server_config(server, &self.settings).map_err(failed)?
            }
            MemberConnection::Attached => {
                let data_dir = self.settings.data_dir.as_deref();
                let connector = Arc::new(AttachConnector::new(data_dir));
                let mut config = ServerConfig::new(member.name.clone(), connector);
                config.item_names = ItemNames::Own;
                // Each process has workspace tools of its own, for its own directory.
                config.tools.deny = vec![ToolPattern::new(format!("{WORKSPACE}_*"))];
                config
            }
        };
        let added = self.hub.add(config);
        added.map_err(|error| (Status::Failed, error.to_string()))
    }

    /// State of all servers but the built-in ones.
    pub(crate) fn reports(&self) -> Vec<ServerReport> {
        let statuses = self.hub.statuses();
        let entries = self.entries();
        let reports = entries
            .iter()
            .filter(|entry| entry.kind != EntryKind::BuiltIn);
        reports
            .map(|entry| {
                let status = statuses.iter().find(|status| status.name == entry.name);
                entry.report(status)
            })
            .collect()
    }

    /// State of one server, with the names of its tools.
    fn report(&self, name: &ServerName) -> Option<ServerReport> {
        let status = self.hub.status(name);
        let entries = self.entries();
        let entry = entries.iter().find(|entry| entry.name == *name)?;
        let mut report = entry.report(status.as_ref());
        if status.as_ref().is_some_and(is_pending) {
            // Connected is not enough for a command that wants to use what the server lists.
            report.status = Status::Connecting;
        }
        let names = self.hub.tool_names(name).into_iter();
        report.tool_names = names
            .map(|names| ToolName {
                exposed: names.exposed.to_string(),
                own: names.own.to_string(),
                hashed: names.hashed.to_string(),
            })
            .collect();
        Some(report)
    }

    /// The servers that this process runs or is connected to, for other processes.
    pub(crate) fn records(&self, now: u64) -> Vec<ServerRecord> {
        let statuses = self.hub.statuses();
        let entries = self.entries();
        let records = entries.iter().filter_map(|entry| {
            let EntryKind::Configured { definition, .. } = &entry.kind else {
                return None;
            };
            if entry.problem.is_some() {
                return None;
            }
            let status = statuses.iter().find(|status| status.name == entry.name)?;
            if Status::of_state(status.state) == Status::Disabled {
                return None;
            }
            let age = status.process_since.map(|since| since.elapsed().as_secs());
            Some(ServerRecord {
                name: entry.name.to_string(),
                definition: definition.clone(),
                pid: status.process_id,
                since: age.map(|age| now.saturating_sub(age)),
                restarts: status.restarts,
                status: Some(Status::of_state(status.state)),
            })
        });
        records.collect()
    }

    /// Connects a server that is not, and waits until it is connected with its lists read, has failed, or the time
    /// is over.
    pub(crate) async fn wait(&self, name: &ServerName, limit: Duration) {
        let deadline = Instant::now() + limit;
        let mut changes = self.hub.changes();
        let before = self.hub.status(name).map(|status| status.attempts);
        self.hub.retry(name);
        let is_awaited = |status: ServerStatus| match Status::of_state(status.state) {
            Status::Disabled => false,
            Status::Connecting | Status::Connected => is_pending(&status),
            // The attempt that was asked for has not begun.
            _ => Some(status.attempts) == before,
        };
        while self.hub.status(name).is_some_and(is_awaited) {
            let change = tokio::time::timeout_at(deadline, changes.next()).await;
            if change != Ok(true) {
                return;
            }
        }
    }

    /// Connects all servers now, those that start on first use included.
    pub(crate) fn connect_all(&self) {
        for status in self.hub.statuses() {
            self.hub.retry(&status.name);
        }
    }

    /// Names of the servers that are neither connected nor failed yet, after [`Self::connect_all`].
    pub(crate) fn pending(&self) -> Vec<String> {
        let statuses = self.hub.statuses().into_iter();
        let is_idle = |status: &ServerStatus| Status::of_state(status.state) == Status::Idle;
        let pending = statuses.filter(|status| is_pending(status) || is_idle(status));
        pending.map(|status| status.name.to_string()).collect()
    }

    pub(crate) fn changes(&self) -> StatusChanges {
        self.hub.changes()
    }

    pub(crate) fn login_changed(&self, name: &ServerName) {
        self.hub.login_changed(name);
    }

    /// Writes the catalogs that changed.
    ///
    /// Servers offer fewer tools to a client with fewer capabilities: what they offer to one command is not what
    /// others should find.
    pub(crate) fn keep_catalogs(&self) {
        let Some(files) = &self.settings.catalogs else {
            return;
        };
        if self.settings.capabilities.is_some() {
            return;
        }
        for unsaved in self.hub.take_unsaved_catalogs() {
            let kept = files.store(&unsaved.key, unsaved.catalog.as_bytes());
            if let Err(error) = kept {
                tracing::warn!(server = %unsaved.server, "cannot keep the catalog: {error:#}");
            }
        }
    }

    /// Ends all connections.
    pub(crate) async fn close(&self) {
        self.hub.close().await;
    }

    /// True while lists wait: a server is connecting of which nothing is known.
    fn is_starting(&self) -> bool {
        let is_unknown = |status: &ServerStatus| {
            let items = status.tools + status.prompts + status.resources;
            is_pending(status) && items == 0 && status.attempts <= 1
        };
        Instant::now() < self.first_lists && self.hub.statuses().iter().any(is_unknown)
    }

    async fn list(&self, call: Call) -> Result<Reply, Error> {
        let mut changes = self.hub.changes();
        while self.is_starting() {
            let change = tokio::time::timeout_at(self.first_lists, changes.next()).await;
            if change != Ok(true) {
                break;
            }
        }
        self.hub.call(call).await
    }

    async fn servers(&self, call: Call) -> Result<Reply, Error> {
        let params: ServersParams = call
            .params()
            .decode()
            .map_err(|_| Error::invalid_params("`server` must be a text and `wait` a number"))?;
        let servers = match params.server {
            None => self.reports(),
            Some(name) => {
                let name = ServerName::new(&name).map_err(|error| {
                    Error::invalid_params(format!("`server` cannot be a name: {error}"))
                })?;
                if let Some(wait) = params.wait {
                    let longest = Duration::from_secs(600);
                    self.wait(&name, Duration::from_millis(wait).min(longest))
                        .await;
                }
                self.report(&name).into_iter().collect()
            }
        };
        let result = ServersResult {
            result_type: "complete".to_owned(),
            servers,
        };
        let result = RawJson::encode(&result).expect("a report is plain JSON");
        Ok(Reply::Complete(result))
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        // A panic elsewhere leaves the list as it was.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service for Gateway {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        match call.method.as_str() {
            SERVERS_METHOD => Box::pin(self.servers(call)),
            // A command has waited for the server that it names, and for no other.
            method::TOOLS_LIST | method::PROMPTS_LIST | method::RESOURCES_LIST
                if self.is_starting() && !is_of_command(&call) =>
            {
                Box::pin(self.list(call))
            }
            _ => self.hub.call(call),
        }
    }
}

impl Entry {
    fn report(&self, status: Option<&ServerStatus>) -> ServerReport {
        let (definition, transport) = match &self.kind {
            EntryKind::BuiltIn => (None, "built-in"),
            EntryKind::Attached => (None, "http"),
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

/// True if a command of this program makes a call.
fn is_of_command(call: &Call) -> bool {
    call.cx.peer().meta().get(WHOLE_RESULTS).is_some()
}

fn kind_of(member: &Member) -> EntryKind {
    match &member.connection {
        MemberConnection::Attached => EntryKind::Attached,
        MemberConnection::Own(server) => EntryKind::Configured {
            definition: server.definition_hash().to_string(),
            transport: server.definition.transport(),
        },
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

/// True if a server is being connected, or its lists are being read.
fn is_pending(status: &ServerStatus) -> bool {
    match Status::of_state(status.state) {
        Status::Connecting => true,
        Status::Connected => !status.listed,
        _ => false,
    }
}
