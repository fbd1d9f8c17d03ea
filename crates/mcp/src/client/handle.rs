use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callgate_wire::{Id, Version};

use super::builder::Builder;
use super::cache::{Cache, CacheLimits, Stale};
use super::handlers::Handlers;
use super::options::CallOptions;
use super::output::OutputSchemas;
use super::stamp::Identity;
use super::version::Versions;
use crate::error::Error;
use crate::service::Service;

/// A typed client over any [`Service`]: an HTTP client, a child process, a router.
///
/// Every request says who asks and what the client can do; there is no handshake, so a client is
/// ready as soon as it is built. Dropping the future of a call cancels the call, here and at the
/// server. Clones are cheap and share everything but their options.
///
/// ```
/// # use std::sync::Arc;
/// # use callgate_mcp::client::Client;
/// # use callgate_mcp::wire::implementation::Implementation;
/// # async fn example(service: Arc<dyn callgate_mcp::Service>) -> Result<(), callgate_mcp::Error> {
/// let client = Client::builder(service)
///     .info(Implementation::new("example", "1.0"))
///     .build();
/// for tool in client.list_tools().await? {
///     println!("{}", tool.name);
/// }
/// let sum = client.call_tool("add", &serde_json::json!({"a": 1, "b": 2})).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    pub(super) shared: Arc<Shared>,
    pub(super) options: CallOptions,
}

/// How much a client puts up with from a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most pages of one list.
    pub pages: usize,
    /// The most bytes of one list, all pages together.
    pub list_bytes: usize,
    /// The most rounds in which one call may ask for input.
    pub rounds: usize,
    /// The most inputs that may be asked for in one round, or by one task.
    pub inputs: usize,
    /// The most tools whose output schemas are remembered, and so checked; 0 checks none.
    pub schemas: usize,
    /// How much of what the server allowed to keep is kept.
    pub cache: CacheLimits,
}

/// What all clones of a client share.
pub(super) struct Shared {
    pub(super) service: Arc<dyn Service>,
    /// What the server is called in errors.
    pub(super) server: Arc<str>,
    pub(super) identity: Identity,
    pub(super) handlers: Handlers,
    pub(super) versions: Versions,
    pub(super) limits: Limits,
    pub(super) cache: Cache,
    pub(super) schemas: OutputSchemas,
    /// Whether the server may answer a tool call with a task.
    pub(super) tasks: bool,
    pub(super) ids: AtomicU64,
}

impl Client {
    /// Starts to build a client of `service`.
    #[must_use]
    pub fn builder(service: Arc<dyn Service>) -> Builder {
        Builder::new(service)
    }

    /// The same client, with these options for its calls.
    #[must_use]
    pub fn with_options(&self, options: CallOptions) -> Self {
        Self {
            shared: self.shared.clone(),
            options,
        }
    }

    /// How calls are made.
    #[must_use]
    pub fn options(&self) -> &CallOptions {
        &self.options
    }

    /// The revision that the client speaks with its server now.
    #[must_use]
    pub fn version(&self) -> Version {
        self.shared.versions.current()
    }

    /// Speaks the best revision that the server knows too, from now on.
    pub(super) fn choose_version(&self, supported: &[String]) -> Result<Version, Error> {
        let before = self.version();
        let chosen = self.shared.versions.choose(supported);
        if chosen.as_ref().is_ok_and(|version| *version != before) {
            // What was said in one revision may be said otherwise in another.
            self.shared.cache.forget(Stale::All);
        }
        chosen.map_err(|error| self.of_server(error))
    }

    /// Speaks a revision that the server named when it refused the last one.
    pub(super) fn choose_version_after(&self, refusal: Error) -> Result<Version, Error> {
        let supported = refusal.data().and_then(|data| data.get("supported"));
        let supported: Vec<String> = supported
            .and_then(|supported| supported.decode().ok())
            .unwrap_or_default();
        self.choose_version(&supported)
            .map_err(|error| error.with_source(refusal))
    }

    /// The same error, as the fault of the server.
    pub(super) fn of_server(&self, error: Error) -> Error {
        error.from_upstream(&self.shared.server)
    }
}

impl Shared {
    /// An id that no other request of this client has.
    pub(super) fn next_id(&self) -> Id {
        Id::number(self.ids.fetch_add(1, Ordering::Relaxed))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            pages: 1000,
            list_bytes: 64 * 1024 * 1024,
            rounds: 10,
            inputs: 32,
            schemas: 500,
            cache: CacheLimits::default(),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.shared.server)
            .field("identity", &self.shared.identity)
            .field("handlers", &self.shared.handlers)
            .field("limits", &self.shared.limits)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
