use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::wire::method;
use callgate_mcp::{BoxFuture, Call, Error, Implementation, RawJson, Reply, Service};
use futures_util::future::join_all;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

use crate::catalog::{Catalog, CatalogSummary, ListKind, Selection, ToolNames};
use crate::exposed_names::Naming;
use crate::mutex::Mutex;
use crate::reconnect::{Event, Phase};
use crate::server::Server;
use crate::server_config::ServerConfig;
use crate::server_name::ServerName;
use crate::shared::Shared;
use crate::status::{ServerState, ServerStatus, StatusChanges};
use crate::{listen, route};

/// Many servers as one service.
///
/// All servers are connected in parallel, each by a task of its own. Lists are served from a merged
/// snapshot; every other request goes to the server that it names. Dropping the hub ends all
/// connections at once; [`Hub::close`] ends them in good order.
pub struct Hub {
    shared: Arc<Shared>,
    servers: Mutex<Vec<Running>>,
    /// Removed servers that have not ended yet.
    leaving: Mutex<Vec<Running>>,
    max_servers: usize,
}

/// A server with the task that supervises it, which ends when this is dropped.
struct Running {
    server: Arc<Server>,
    task: AbortHandle,
}

/// Settings of a [`Hub`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HubConfig {
    /// Name and version that the hub shows to clients.
    pub info: Implementation,
    /// Form of the names of tools.
    pub naming: Naming,
    /// Time for which the items of a server that is not connected stay in the lists.
    pub grace: Duration,
    /// Maximum number of servers.
    pub max_servers: usize,
    /// Maximum number of subscriptions of all callers.
    pub max_subscriptions: usize,
}

/// Changed catalog of a server, which the program that uses the hub should save.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct UnsavedCatalog {
    /// The server.
    pub server: ServerName,
    /// The key under which its owner keeps it: [`ServerConfig::catalog_key`].
    pub key: Arc<str>,
    /// The catalog, for [`ServerConfig::saved_catalog`] of a later start.
    pub catalog: RawJson,
}

impl HubConfig {
    /// Settings of a hub with this name: a grace period of 10 minutes, up to 1,000 servers and
    /// 10,000 subscriptions.
    #[must_use]
    pub fn new(info: Implementation) -> Self {
        Self {
            info,
            naming: Naming::default(),
            grace: Duration::from_secs(10 * 60),
            max_servers: 1_000,
            max_subscriptions: 10_000,
        }
    }
}

/// A server cannot be added.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum HubError {
    /// There is a server with this name.
    #[error("there is a server `{0}` already")]
    Duplicate(ServerName),
    /// The hub has as many servers as it may have.
    #[error("the hub has {0} servers already, its maximum")]
    TooMany(usize),
}

impl Hub {
    /// A hub without servers. Needs a tokio runtime when servers are added.
    #[must_use]
    pub fn new(config: HubConfig) -> Self {
        Self {
            shared: Arc::new(Shared {
                catalog: Catalog::new(config.info, config.naming),
                watched: Default::default(),
                grace: config.grace,
                max_subscriptions: config.max_subscriptions,
                status_changes: Default::default(),
            }),
            servers: Mutex::default(),
            leaving: Mutex::default(),
            max_servers: config.max_servers,
        }
    }

    /// Adds a server and begins to connect it; returns at once.
    ///
    /// The items of its saved catalog are in the lists from now on.
    ///
    /// # Errors
    /// There is a server with this name, or there are too many.
    pub fn add(&self, mut config: ServerConfig) -> Result<(), HubError> {
        let mut servers = self.servers.lock();
        if servers
            .iter()
            .any(|running| *running.server.name() == config.name)
        {
            return Err(HubError::Duplicate(config.name));
        }
        if servers.len() >= self.max_servers {
            return Err(HubError::TooMany(self.max_servers));
        }
        let saved = config.saved_catalog.take();
        let server = Arc::new(Server::new(config));
        // Before the task starts, which changes the catalog of its server.
        self.shared.catalog.add(&server, saved);
        let supervise = server.clone().supervise(self.shared.clone());
        let task = tokio::spawn(supervise).abort_handle();
        servers.push(Running { server, task });
        Ok(())
    }

    /// Removes a server and its items, and waits until its connection is closed. Returns false if
    /// there is none with this name.
    pub async fn remove(&self, name: &ServerName) -> bool {
        let running = {
            let mut servers = self.servers.lock();
            let position = servers
                .iter()
                .position(|running| running.server.name() == name);
            position.map(|position| servers.remove(position))
        };
        let Some(running) = running else {
            return false;
        };
        let server = running.server.clone();
        // If this future is dropped, the server goes on to end here, and `close` waits for it.
        self.leaving.lock().push(running);
        // Before the wait for its end, so that callers see no items of a server that is leaving.
        self.shared.catalog.remove(&server);
        server.shut_down().await;
        let is_other = |running: &Running| !Arc::ptr_eq(&running.server, &server);
        self.leaving.lock().retain(is_other);
        true
    }

    /// Ends all connections, and waits until they are closed.
    pub async fn close(&self) {
        let servers: Vec<_> = {
            let (servers, leaving) = (self.servers.lock(), self.leaving.lock());
            let servers = servers.iter().chain(leaving.iter());
            servers.map(|running| running.server.clone()).collect()
        };
        join_all(servers.iter().map(|server| server.shut_down())).await;
    }

    /// State of all servers, in the order in which they were added.
    #[must_use]
    pub fn statuses(&self) -> Vec<ServerStatus> {
        let servers = self.servers.lock();
        servers
            .iter()
            .map(|running| self.status_of(&running.server))
            .collect()
    }

    /// State of one server.
    #[must_use]
    pub fn status(&self, name: &ServerName) -> Option<ServerStatus> {
        let server = self.server(name)?;
        Some(self.status_of(&server))
    }

    /// Names of the tools of a server that callers see now.
    #[must_use]
    pub fn tool_names(&self, name: &ServerName) -> Vec<ToolNames> {
        let server = self.server(name);
        server.map_or_else(Vec::new, |server| self.shared.catalog.tool_names(&server))
    }

    /// Changes of states and lists from now on, for live displays.
    #[must_use]
    pub fn changes(&self) -> StatusChanges {
        StatusChanges {
            states: self.shared.status_changes.subscribe(),
            lists: self.shared.catalog.follow(Selection::All),
        }
    }

    /// Waits until each server that starts immediately is ready, has failed, or needs the user. Returns
    /// false at the deadline.
    pub async fn wait_settled(&self, deadline: Instant) -> bool {
        let mut changes = self.changes();
        let settled = async {
            while !self.is_settled() {
                changes.next().await;
            }
        };
        timeout_at(deadline, settled).await.is_ok()
    }

    /// Turns a server on or off. One that is off is not connected, and its items are in no list.
    /// Returns false if there is none with this name.
    pub fn set_enabled(&self, name: &ServerName, enabled: bool) -> bool {
        let server = self.server(name);
        if let Some(server) = &server {
            server.signal(match enabled {
                true => Event::Enable,
                false => Event::Disable,
            });
        }
        server.is_some()
    }

    /// The catalogs that changed since they were loaded or last returned here, of servers with a
    /// [`ServerConfig::catalog_key`] whose lists were read. A list that could not be read is left out.
    ///
    /// The owner keeps them and gives them to the hub of its next start. The hub does no file I/O:
    /// call this after [`Hub::wait_settled`], and after each of the [`Hub::changes`].
    #[must_use]
    pub fn take_unsaved_catalogs(&self) -> Vec<UnsavedCatalog> {
        let unsaved = self.shared.catalog.take_unsaved().into_iter();
        let unsaved = unsaved.map(|(server, key, catalog)| UnsavedCatalog {
            server: server.name().clone(),
            key,
            catalog,
        });
        unsaved.collect()
    }

    /// Tells the hub that the stored login of a server changed: a server that waits for it is
    /// connected.
    pub fn login_changed(&self, name: &ServerName) {
        if let Some(server) = self.server(name) {
            server.signal(Event::LoginChanged);
        }
    }

    /// Connects a server now that failed or was stopped.
    pub fn retry(&self, name: &ServerName) {
        if let Some(server) = self.server(name) {
            server.signal(Event::Retry);
        }
    }

    fn server(&self, name: &ServerName) -> Option<Arc<Server>> {
        let servers = self.servers.lock();
        let running = servers
            .iter()
            .find(|running| running.server.name() == name)?;
        Some(running.server.clone())
    }

    fn status_of(&self, server: &Server) -> ServerStatus {
        let view = server.view();
        let CatalogSummary {
            counts: [tools, prompts, resources, resource_templates],
            info,
            instructions,
            changed_tools,
        } = self.shared.catalog.summary(server);
        ServerStatus {
            name: server.name().clone(),
            state: ServerState::of_phase(view.phase),
            attempts: server.attempts(),
            restarts: server.restarts(),
            connected_since: match view.phase {
                Phase::Connected { since } => Some(since),
                _ => None,
            },
            listed: view.listed,
            latency: view.latency,
            version: view.version(),
            process_id: view.process.map(|process| process.id),
            process_since: view.process.map(|process| process.since),
            reason: view.reason.map(|reason| reason.text),
            info,
            instructions,
            tools,
            prompts,
            resources,
            resource_templates,
            changed_tools,
        }
    }

    fn is_settled(&self) -> bool {
        let servers = self.servers.lock();
        let mut views = servers.iter().map(|running| running.server.view());
        views.all(|view| view.is_settled())
    }

    /// Answers a call as a hub without its [private](ServerConfig::private) servers would.
    pub fn call_shared(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        self.answer(Selection::Shared, call)
    }

    fn selected(&self, selection: Selection, name: &ServerName) -> Option<Arc<Server>> {
        self.server(name).filter(|server| selection.has(server))
    }

    async fn forward(&self, selection: Selection, mut call: Call) -> Result<Reply, Error> {
        let snapshot = self.shared.catalog.snapshot(selection);
        let server = |name: &ServerName| self.selected(selection, name);
        let route = route::route(&snapshot, &mut call, server)?;
        // A list that has changed since is not kept for as long as the call runs.
        drop(snapshot);
        let reply = route.server.call(call, route.repeatable).await?;
        Ok(route::expose(reply, &route.server, route.is_about_task))
    }

    fn answer(&self, selection: Selection, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        let kind = match call.method.as_str() {
            method::SERVER_DISCOVER => {
                let discovered = self.shared.catalog.snapshot(selection).discovered.clone();
                let discovered = discovered.map(Reply::Complete);
                let missing = || Error::method_not_found(&call.method);
                return Box::pin(std::future::ready(discovered.ok_or_else(missing)));
            }
            method::SUBSCRIPTIONS_LISTEN => {
                let server = move |name: &ServerName| self.selected(selection, name);
                return Box::pin(listen::listen(&self.shared, selection, call, server));
            }
            method::TOOLS_LIST => ListKind::Tools,
            method::PROMPTS_LIST => ListKind::Prompts,
            method::RESOURCES_LIST => ListKind::Resources,
            method::RESOURCES_TEMPLATES_LIST => ListKind::Templates,
            _ => return Box::pin(self.forward(selection, call)),
        };
        let member = call.method.list_member().expect("the method lists items");
        let snapshot = self.shared.catalog.snapshot(selection);
        // A server without items in the lists cannot be used by one, so that a list is a use of it.
        for server in snapshot.absent() {
            server.use_if_waiting();
        }
        let cursor = call.params().get("cursor");
        let page = snapshot.list(kind).page(member, cursor.as_ref());
        Box::pin(std::future::ready(page))
    }
}

impl Service for Hub {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        self.answer(Selection::All, call)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}
