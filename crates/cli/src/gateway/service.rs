use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callgate_hub::{
    Hub, HubConfig, ItemNames, Naming, ServerConfig, ServerName, ServerStatus, StatusChanges,
};
use callgate_mcp::layer::IdleLimit;
use callgate_mcp::router::Router;
use callgate_mcp::transport::child::CloseBy;
use callgate_mcp::wire::capabilities::ClientCapabilities;
use callgate_mcp::wire::method;
use callgate_mcp::{BoxFuture, Call, Error, Kind, Origin, RawJson, Reply, Retry, Service};
use futures_util::future::join_all;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::attach::AttachConnector;
use super::builtin::BuiltInConnector;
use super::call_idle::asked_idle;
use super::catalog_files::CatalogFiles;
use super::entry::{Entry, EntryKind};
use super::limited_results::WHOLE_RESULTS;
use super::member_config::server_config;
use super::moves::Moves;
use super::plan::{Current, GATEWAY, Member, MemberConnection};
use super::report::{SERVERS_METHOD, ServerReport, ServersParams, ServersResult, Status, ToolName};
use crate::error::CommandError;
use crate::instance::ServerRecord;
use crate::server;

/// The hub with the servers of the configuration and of this process.
///
/// It answers the private method [`SERVERS_METHOD`], for the user alone, and leaves all others to the hub.
pub(crate) struct Gateway {
    hub: Hub,
    settings: GatewaySettings,
    /// In the order of the configuration.
    entries: Mutex<Vec<Entry>>,
    /// Time until which lists wait for servers that were never listed.
    first_lists: Mutex<Instant>,
    /// True if servers of another process are used.
    is_attached: AtomicBool,
    moves: Moves,
    /// Told when another process whose servers are used has ended.
    ended: Arc<Notify>,
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
    /// True if other processes may use the servers: not the workspace tools, which are for the directory of this one.
    pub(crate) shares: bool,
}

/// Name of the workspace tools as a server.
pub(crate) const WORKSPACE: &str = "workspace";

/// Time for which the first lists wait for servers that are being connected: many clients read their lists only
/// once. A server that was listed before is not waited for.
const FIRST_LISTS: Duration = Duration::from_secs(8);

/// Maximum number of times that a call is sent again because its server moves between processes.
const MAX_RESENDS: u32 = 2;

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
            first_lists: Mutex::new(Instant::now() + FIRST_LISTS),
            is_attached: AtomicBool::new(false),
            moves: Moves::default(),
            ended: Arc::default(),
        }
    }

    /// Adds the workspace tools, which keep their names, and waits until they are listed.
    pub(crate) async fn add_workspace(&self, router: Arc<Router>) -> Result<(), CommandError> {
        let name = ServerName::new(WORKSPACE).expect("the name is valid");
        let mut config = ServerConfig::new(name.clone(), Arc::new(BuiltInConnector(router)));
        config.item_names = ItemNames::Own;
        config.private = self.settings.shares;
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
        let is_attached = members.iter().any(Member::is_attached);
        // Servers may go from one process to another, and clients list their tools again.
        let _moving = (is_attached || self.is_attached()).then(|| {
            *lock(&self.first_lists) = Instant::now() + FIRST_LISTS;
            self.moves.begin()
        });
        // Before the wait for their end: the hub does not know them any more, so there is no state to report.
        self.entries()
            .retain(|entry| !removed.contains(&entry.name));
        // A server may hold a file or a port that its next process needs.
        // One that does not end takes seconds, for which calls and other processes wait.
        join_all(removed.iter().map(|name| self.hub.remove(name))).await;
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
                kind: EntryKind::of(member),
                problem: problem_of(&member.name, &member.fingerprint),
            })
            .collect();
        entries.retain(|entry| entry.kind == EntryKind::BuiltIn);
        entries.extend(now);
        self.is_attached.store(is_attached, Ordering::Release);
    }

    /// The servers that this process runs, and the processes whose servers it uses.
    pub(crate) fn current(&self) -> Current {
        let own = self.records(0).into_iter();
        let entries = self.entries();
        let attached = entries.iter().filter_map(|entry| match entry.kind {
            EntryKind::Attached(process) => Some(process),
            EntryKind::BuiltIn | EntryKind::Configured { .. } => None,
        });
        Current {
            own: own.map(|it| (it.name, it.definition)).collect(),
            attached: attached.collect(),
        }
    }

    /// True if this process runs a server of the configuration.
    pub(crate) fn runs_servers(&self) -> bool {
        !self.records(0).is_empty()
    }

    /// True if servers of another process are used.
    pub(crate) fn is_attached(&self) -> bool {
        self.is_attached.load(Ordering::Acquire)
    }

    /// Waits until another process whose servers are used has ended. Dropping the future is safe.
    pub(crate) async fn attached_ended(&self) {
        self.ended.notified().await;
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
            MemberConnection::Attached {
                process,
                has_workspace_tools,
            } => {
                let connector = AttachConnector {
                    process: *process,
                    data_dir: self.settings.data_dir.clone(),
                    ended: self.ended.clone(),
                };
                connector.into_config(member.name.clone(), *has_workspace_tools)
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
        let status = self.hub.status(name);
        // The failure of an attempt that is under way is an answer too: no other attempt is waited for.
        let is_idle = |status: &ServerStatus| Status::of_state(status.state) != Status::Connecting;
        let before = status.filter(is_idle).map(|status| status.attempts);
        if before.is_some() {
            self.hub.retry(name);
        }
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
        Instant::now() < *lock(&self.first_lists) && self.hub.statuses().iter().any(is_unknown)
    }

    async fn list(&self, audience: Audience, call: Call) -> Result<Reply, Error> {
        self.started().await;
        self.route(audience, call).await
    }

    /// Waits while lists do.
    async fn started(&self) {
        let mut changes = self.hub.changes();
        while self.is_starting() {
            let limit = *lock(&self.first_lists);
            let change = tokio::time::timeout_at(limit, changes.next()).await;
            if change != Ok(true) {
                break;
            }
        }
    }

    fn route(&self, audience: Audience, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        match audience {
            Audience::Client | Audience::Others => self.hub.call(call),
            Audience::Processes => self.hub.call_shared(call),
        }
    }

    /// Sends a call on. One that another process has certainly not received, because it has ended, is sent to where
    /// its servers run then; its tools may not be known there yet.
    async fn route_after_moves(&self, call: Call) -> Result<Reply, Error> {
        for _ in 0..MAX_RESENDS {
            self.moves.finished().await;
            if is_first_list(&call) {
                self.started().await;
            }
            let before = self.moves.count();
            let answer = self.hub.call(call.clone()).await;
            match answer {
                Err(error) if is_undelivered(&error) && self.moves.next(before).await => {}
                Err(error) if error.kind() == Kind::InvalidParams && self.is_starting() => {
                    self.started().await;
                }
                answer => return answer,
            }
        }
        self.hub.call(call).await
    }

    fn answer(&self, audience: Audience, mut call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        if audience == Audience::Others {
            // No private method or key is for them: what follows is for the user.
            return match self.is_starting() && is_first_list(&call) {
                true => Box::pin(self.list(audience, call)),
                false => self.route(audience, call),
            };
        }
        if let Some(idle) = asked_idle(&call) {
            call.cx.extensions.insert(IdleLimit::new(idle));
        }
        match call.method.as_str() {
            SERVERS_METHOD => Box::pin(self.servers(call)),
            _ if audience == Audience::Client && self.settings.shares => {
                Box::pin(self.route_after_moves(call))
            }
            _ if self.is_starting() && is_first_list(&call) => Box::pin(self.list(audience, call)),
            _ => self.route(audience, call),
        }
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
        lock(&self.entries)
    }
}

impl Service for Gateway {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        self.answer(Audience::Client, call)
    }
}

/// Callers of a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    /// The client of this process, or those of its user.
    Client,
    /// Other processes, which use the servers that this one runs.
    Processes,
    /// Clients that may be those of other people.
    Others,
}

/// The servers that a process runs, without its workspace tools and without those of other processes.
pub(crate) struct SharedServers(pub(crate) Arc<Gateway>);

impl Service for SharedServers {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        self.0.answer(Audience::Processes, call)
    }
}

/// The servers for clients that may be those of other people: they learn nothing of the machine of the user, and move
/// no server.
pub(crate) struct PublicServers(pub(crate) Arc<Gateway>);

impl Service for PublicServers {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        self.0.answer(Audience::Others, call)
    }
}

/// True for a list that waits for servers of which nothing is known yet. A command of this program has waited for the
/// server that it names, and for no other.
fn is_first_list(call: &Call) -> bool {
    let asked = call.method.as_str();
    let lists = [
        method::TOOLS_LIST,
        method::PROMPTS_LIST,
        method::RESOURCES_LIST,
    ];
    lists.contains(&asked) && call.cx.peer().meta().get(WHOLE_RESULTS).is_none()
}

/// The value, which a panic elsewhere leaves as it was.
fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// True if another process has certainly not received the call.
fn is_undelivered(error: &Error) -> bool {
    let Origin::Upstream(name) = error.origin() else {
        return false;
    };
    let is_lost = matches!(error.kind(), Kind::Connect | Kind::Closed);
    is_lost && error.retry() == Retry::Safe && name.starts_with(GATEWAY)
}

/// True if a server is being connected, or its lists are being read.
fn is_pending(status: &ServerStatus) -> bool {
    match Status::of_state(status.state) {
        Status::Connecting => true,
        Status::Connected => !status.listed,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, poll_fn};
    use std::pin::{Pin, pin};
    use std::sync::atomic::AtomicUsize;
    use std::task::Poll;

    use callgate_hub::{Connector, ServerState, Upstream};
    use callgate_mcp::Cx;
    use callgate_mcp::layer::TimeLimits;
    use callgate_mcp::router::ToolRoute;
    use callgate_mcp::wire::{Id, Method};

    use super::*;
    use crate::gateway::CALL_IDLE;

    /// Fails when it is told to.
    struct FailingConnector(Arc<Notify>);

    impl Connector for FailingConnector {
        fn connect(&self) -> BoxFuture<'_, Result<Arc<dyn Upstream>, Error>> {
            Box::pin(async {
                self.0.notified().await;
                Err(Error::new(Kind::Connect, "refused"))
            })
        }
    }

    /// A server that never ends when it is told to, and counts that.
    struct EndlessServer(Router, Arc<AtomicUsize>);

    impl Service for EndlessServer {
        fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            self.0.call(call)
        }
    }

    impl Upstream for EndlessServer {
        fn closed(&self) -> BoxFuture<'_, Error> {
            Box::pin(pending())
        }

        fn close(&self) -> BoxFuture<'_, ()> {
            self.1.fetch_add(1, Ordering::Relaxed);
            Box::pin(pending())
        }
    }

    /// A server with a tool that ends when it is told to.
    fn slow_server(end: Arc<Notify>) -> Arc<dyn Connector> {
        Arc::new(move || {
            let router = Router::new(server::own_name());
            let end = end.clone();
            let slow = ToolRoute::new("slow", "Waits", move || {
                let end = end.clone();
                async move {
                    end.notified().await;
                    "done"
                }
            });
            router.add_tool(slow).unwrap();
            let server = EndlessServer(router, Arc::default());
            Ok(Arc::new(server) as Arc<dyn Upstream>)
        })
    }

    fn gateway(connector: Arc<dyn Connector>) -> (Gateway, ServerName) {
        gateway_with(connector, TimeLimits::default())
    }

    fn gateway_with(connector: Arc<dyn Connector>, limits: TimeLimits) -> (Gateway, ServerName) {
        let gateway = Gateway::new(GatewaySettings::default());
        let name = ServerName::new("s").unwrap();
        let mut config = ServerConfig::new(name.clone(), connector);
        config.call_limits = limits;
        gateway.hub.add(config).unwrap();
        gateway.entries().push(Entry {
            name: name.clone(),
            fingerprint: String::new(),
            kind: EntryKind::Configured {
                definition: String::new(),
                transport: "stdio",
            },
            problem: None,
        });
        (gateway, name)
    }

    /// True if the future still waits.
    async fn is_waiting<T>(mut future: Pin<&mut impl Future<Output = T>>) -> bool {
        poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_pending())).await
    }

    #[tokio::test]
    async fn a_command_waits_for_the_attempt_that_is_under_way() {
        let end = Arc::new(Notify::new());
        let (gateway, name) = gateway(Arc::new(FailingConnector(end.clone())));
        let attempts = || gateway.hub.status(&name).unwrap().attempts;
        while attempts() == 0 {
            tokio::task::yield_now().await;
        }
        let mut wait = pin!(gateway.wait(&name, Duration::from_secs(60)));
        assert!(is_waiting(wait.as_mut()).await);
        end.notify_one();
        wait.await;
        assert_eq!(attempts(), 1);
        let state = gateway.hub.status(&name).unwrap().state;
        assert!(matches!(state, ServerState::Failed { .. }));
    }

    #[tokio::test]
    async fn a_server_that_is_removed_is_no_longer_reported_while_it_ends() {
        let connect = || {
            let server = EndlessServer(Router::new(server::own_name()), Arc::default());
            Ok(Arc::new(server) as Arc<dyn Upstream>)
        };
        let (gateway, name) = gateway(Arc::new(connect));
        gateway.wait(&name, Duration::from_secs(60)).await;
        assert_eq!(gateway.reports()[0].status, Status::Connected);
        let mut change = pin!(gateway.apply(&[]));
        assert!(is_waiting(change.as_mut()).await);
        assert_eq!(gateway.reports(), []);
    }

    #[tokio::test]
    async fn servers_that_are_removed_end_together() {
        let ends = Arc::new(AtomicUsize::new(0));
        let (counted, names) = (ends.clone(), ["a", "s"]);
        let connect = move || {
            let server = EndlessServer(Router::new(server::own_name()), counted.clone());
            Ok(Arc::new(server) as Arc<dyn Upstream>)
        };
        let connector: Arc<dyn Connector> = Arc::new(connect);
        let (gateway, _) = gateway(connector.clone());
        let other = ServerName::new(names[0]).unwrap();
        let config = ServerConfig::new(other.clone(), connector);
        gateway.hub.add(config).unwrap();
        let mut entry = gateway.entries()[0].clone();
        entry.name = other;
        gateway.entries().push(entry);
        for name in names {
            let name = ServerName::new(name).unwrap();
            gateway.wait(&name, Duration::from_secs(60)).await;
        }
        let mut change = pin!(gateway.apply(&[]));
        // Neither ever does, and each is told so in a few turns.
        for _ in 0..100 {
            assert!(is_waiting(change.as_mut()).await);
            tokio::task::yield_now().await;
        }
        assert_eq!(ends.load(Ordering::Relaxed), 2);
    }

    async fn ask(service: &dyn Service, method: &str, params: &str) -> Result<Reply, Error> {
        let params: RawJson = serde_json::from_str(params).unwrap();
        let cx = Cx::new(Id::number(1));
        service
            .call(Call::new(Method::new(method), params, cx))
            .await
    }

    #[tokio::test]
    async fn the_time_that_a_command_asks_for_is_that_of_its_call() {
        let end = Arc::new(Notify::new());
        // An answer that is there at once comes in time.
        let limits = TimeLimits::default().with_idle(Duration::ZERO);
        let (gateway, name) = gateway_with(slow_server(end.clone()), limits);
        gateway.wait(&name, Duration::from_secs(60)).await;
        let gateway = Arc::new(gateway);
        let plain = r#"{"name":"s_slow","arguments":{}}"#;
        let asks =
            format!(r#"{{"name":"s_slow","arguments":{{}},"_meta":{{"{CALL_IDLE}":86400000}}}}"#);
        let kind = |outcome: Result<Reply, Error>| outcome.map(drop).map_err(|it| it.kind());
        let shared = SharedServers(gateway.clone());
        for service in [&*gateway as &dyn Service, &shared] {
            let mut asked = pin!(ask(service, method::TOOLS_CALL, &asks));
            assert!(is_waiting(asked.as_mut()).await);
            // It begins later, so that the limit of the server is over for both.
            let other = ask(service, method::TOOLS_CALL, plain).await;
            assert_eq!(kind(other), Err(Kind::Timeout));
            assert!(is_waiting(asked.as_mut()).await);
            end.notify_one();
            assert_eq!(kind(asked.await), Ok(()));
        }
        // Not for clients of others.
        let public = PublicServers(gateway);
        let public = ask(&public, method::TOOLS_CALL, &asks).await;
        assert_eq!(kind(public), Err(Kind::Timeout));
    }

    #[tokio::test]
    async fn clients_of_others_learn_nothing_about_servers_and_move_none() {
        let end = Arc::new(Notify::new());
        let (gateway, name) = gateway(Arc::new(FailingConnector(end.clone())));
        end.notify_one();
        gateway.wait(&name, Duration::from_secs(60)).await;
        let gateway = Arc::new(gateway);
        let before = gateway.hub.status(&name).unwrap().attempts;
        let public = PublicServers(gateway.clone());
        for params in ["{}", r#"{"server":"s","wait":1}"#] {
            let error = ask(&public, SERVERS_METHOD, params).await.unwrap_err();
            assert_eq!(error.kind(), Kind::MethodNotFound, "{params}");
        }
        assert_eq!(gateway.hub.status(&name).unwrap().attempts, before);
        assert!(ask(&*gateway, SERVERS_METHOD, "{}").await.is_ok());
    }
}
