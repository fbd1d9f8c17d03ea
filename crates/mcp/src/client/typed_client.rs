use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use callgate_wire::Version;

use super::builder::ClientBuilder;
use super::call_options::CallOptions;
use super::identity::ClientIdentity;
use super::input_handlers::InputHandlers;
use super::limits::ClientLimits;
use super::output_schemas::OutputSchemas;
use super::protocol_versions::ProtocolVersions;
use super::result_cache::{Invalidation, ResultCache};
use crate::error::Error;
use crate::service::Service;

/// Typed MCP client over any [`Service`]: an HTTP connection, a child process, a router.
///
/// There is no handshake: every request carries the client's name, revision and capabilities, so a
/// client is ready as soon as it is built. Dropping the future of a call cancels the call, here and
/// at the server. Clones are cheap and share everything but their options.
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
    pub(super) shared: Arc<ClientState>,
    pub(super) options: CallOptions,
}

/// State that all clones of a client share.
pub(super) struct ClientState {
    pub(super) service: Arc<dyn Service>,
    /// Name of the server in errors.
    pub(super) server: Arc<str>,
    pub(super) identity: ClientIdentity,
    pub(super) handlers: InputHandlers,
    pub(super) versions: ProtocolVersions,
    pub(super) limits: ClientLimits,
    pub(super) cache: ResultCache,
    pub(super) schemas: OutputSchemas,
    /// The server may answer a tool call with a task.
    pub(super) allows_tasks: bool,
    pub(super) next_id: AtomicU64,
}

impl Client {
    /// Starts to build a client of `service`.
    #[must_use]
    pub fn builder(service: Arc<dyn Service>) -> ClientBuilder {
        ClientBuilder::new(service)
    }

    /// Returns a clone of the client whose calls have these options.
    #[must_use]
    pub fn with_options(&self, options: CallOptions) -> Self {
        Self {
            shared: self.shared.clone(),
            options,
        }
    }

    /// Returns the options of the client's calls.
    #[must_use]
    pub fn options(&self) -> &CallOptions {
        &self.options
    }

    /// Returns the protocol revision of the next request.
    #[must_use]
    pub fn version(&self) -> Version {
        self.shared.versions.current()
    }

    /// Chooses the best revision that the server supports, for all later requests.
    pub(super) fn choose_version(&self, supported: &[String]) -> Result<Version, Error> {
        let before = self.version();
        let chosen = self.shared.versions.choose(supported);
        if chosen.as_ref().is_ok_and(|version| *version != before) {
            // The same request may have another result in another revision.
            self.shared.cache.invalidate(Invalidation::All);
        }
        chosen.map_err(|error| self.server_error(error))
    }

    /// Chooses among the revisions that the server listed when it refused the current one.
    pub(super) fn choose_version_after(&self, refusal: Error) -> Result<Version, Error> {
        let supported = refusal.data().and_then(|data| data.get("supported"));
        let supported: Vec<String> = supported
            .and_then(|supported| supported.decode().ok())
            .unwrap_or_default();
        self.choose_version(&supported)
            .map_err(|error| error.with_source(refusal))
    }

    /// Marks an error as the fault of the server.
    pub(super) fn server_error(&self, error: Error) -> Error {
        error.from_upstream(&self.shared.server)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.shared.server)
            .field("identity", &self.shared.identity)
            .field("limits", &self.shared.limits)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
