use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::layer::TimeLimits;

use crate::connector::Connector;
use crate::reconnect::{ReconnectPolicy, Start};
use crate::server_name::ServerName;
use crate::tool_policy::ToolPolicy;

/// Server of a hub, as the configuration describes it.
#[non_exhaustive]
pub struct ServerConfig {
    /// Name of the server.
    pub name: ServerName,
    /// Makes connections to it.
    pub connector: Arc<dyn Connector>,
    /// False if the server is turned off until [`Hub::set_enabled`](crate::Hub::set_enabled).
    pub enabled: bool,
    /// Time at which it is connected to.
    pub start: Start,
    /// Time without calls after which a server that starts on first use is stopped.
    pub idle_stop: Option<Duration>,
    /// Time that an attempt to connect may take.
    pub connect_timeout: Duration,
    /// Time limits of each call.
    pub call_limits: TimeLimits,
    /// Delays and limits of reconnection.
    pub reconnect: ReconnectPolicy,
    /// Filter and changes of its tools.
    pub tools: ToolPolicy,
    /// Names of its tools and prompts for callers.
    pub item_names: ItemNames,
    /// Other servers of the configuration. A new tool of this one whose plain name could be that of a tool of one
    /// of them gets a hash, even if that server is not in this hub, or not yet: so the names do not depend on which
    /// server is listed first. The servers of the hub need not be among them.
    pub neighbors: Vec<ServerName>,
    /// True if callers of [`Hub::call_shared`](crate::Hub::call_shared) do not see the server.
    pub private: bool,
    /// Hash of the definition of the server, under which its owner keeps its catalog; `None` if the
    /// catalog is not kept.
    ///
    /// It should cover all that decides which tools the server has, such as its command or URL and
    /// the account, and must not reveal a secret: it is stored with the catalog.
    pub catalog_key: Option<Arc<str>>,
    /// Catalog that the owner kept under `catalog_key`, which callers see until the server is
    /// connected. One that cannot be read or belongs to another key is ignored with a warning.
    pub saved_catalog: Option<Vec<u8>>,
}

/// Names of the tools and prompts of a server for callers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ItemNames {
    /// The name of the server stands in front, in the form of the hub.
    #[default]
    WithServer,
    /// The names that the server gives them, as for built-in tools and for another hub. One that is
    /// taken gets a hash.
    Own,
}

impl ServerConfig {
    /// A server that is connected to at once, with 30 seconds to connect.
    #[must_use]
    pub fn new(name: ServerName, connector: Arc<dyn Connector>) -> Self {
        Self {
            name,
            connector,
            enabled: true,
            start: Start::AtOnce,
            idle_stop: None,
            connect_timeout: Duration::from_secs(30),
            call_limits: TimeLimits::default(),
            reconnect: ReconnectPolicy::default(),
            tools: ToolPolicy::default(),
            item_names: ItemNames::default(),
            neighbors: Vec::new(),
            private: false,
            catalog_key: None,
            saved_catalog: None,
        }
    }
}
