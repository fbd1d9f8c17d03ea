use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use callgate_wire::capabilities::{ClientCapabilities, ElicitationCapability, SamplingCapability};
use callgate_wire::elicitation::{ElicitFormParams, ElicitResult, ElicitUrlParams};
use callgate_wire::implementation::Implementation;
use callgate_wire::roots::Root;
use callgate_wire::sampling::{CreateMessageParams, CreateMessageResult};
use callgate_wire::{RawJson, Version, task};

use super::call_options::CallOptions;
use super::identity::ClientIdentity;
use super::input_handlers::{InputHandlers, InputRefused, SamplingTools, handler};
use super::limits::ClientLimits;
use super::output_schemas::OutputSchemas;
use super::protocol_versions::ProtocolVersions;
use super::result_cache::ResultCache;
use super::typed_client::{Client, ClientState};
use crate::service::Service;

/// Builder of a [`Client`].
///
/// The capabilities that the client's requests declare follow from the handlers that are set.
#[derive(Clone)]
pub struct ClientBuilder {
    service: Arc<dyn Service>,
    server: Arc<str>,
    info: Implementation,
    handlers: InputHandlers,
    capabilities: ClientCapabilities,
    versions: Vec<Version>,
    options: CallOptions,
    limits: ClientLimits,
}

impl ClientBuilder {
    pub(super) fn new(service: Arc<dyn Service>) -> Self {
        Self {
            service,
            server: Arc::from(""),
            info: Implementation::new("callgate", env!("CARGO_PKG_VERSION")),
            handlers: InputHandlers::default(),
            capabilities: ClientCapabilities::default(),
            versions: vec![Version::V2026_07_28],
            options: CallOptions::default(),
            limits: ClientLimits::default(),
        }
    }

    /// Sets the name and version of the client.
    #[must_use]
    pub fn info(mut self, info: Implementation) -> Self {
        self.info = info;
        self
    }

    /// Sets the name of the server in errors.
    #[must_use]
    pub fn server_name(mut self, name: &str) -> Self {
        self.server = Arc::from(name);
        self
    }

    /// Handles elicitation by form: `form` shows the user which server asks for which input, and
    /// lets them decline.
    ///
    /// [`with_defaults`](super::with_defaults) fills in the defaults of the form.
    #[must_use]
    pub fn elicitation<F, R>(mut self, form: F) -> Self
    where
        F: Fn(ElicitFormParams) -> R + Send + Sync + 'static,
        R: Future<Output = ElicitResult> + Send + 'static,
    {
        self.handlers.form = Some(handler(form));
        self
    }

    /// Handles elicitation by URL: `visit` asks the user for consent before it opens the URL.
    ///
    /// Accepting means that the user agreed to open the URL, not that they are done there.
    #[must_use]
    pub fn elicitation_url<F, R>(mut self, visit: F) -> Self
    where
        F: Fn(ElicitUrlParams) -> R + Send + Sync + 'static,
        R: Future<Output = ElicitResult> + Send + 'static,
    {
        self.handlers.url = Some(handler(visit));
        self
    }

    /// Handles sampling: the server may use the client's model, without tools.
    #[must_use]
    pub fn sampling<F, R>(mut self, sample: F) -> Self
    where
        F: Fn(CreateMessageParams) -> R + Send + Sync + 'static,
        R: Future<Output = Result<CreateMessageResult, InputRefused>> + Send + 'static,
    {
        self.handlers.sampling = Some(handler(sample));
        self.handlers.sampling_tools = SamplingTools::Refused;
        self
    }

    /// Handles sampling with tools: the server may use the client's model and offer tools to it.
    #[must_use]
    pub fn sampling_with_tools<F, R>(self, sample: F) -> Self
    where
        F: Fn(CreateMessageParams) -> R + Send + Sync + 'static,
        R: Future<Output = Result<CreateMessageResult, InputRefused>> + Send + 'static,
    {
        let mut builder = self.sampling(sample);
        builder.handlers.sampling_tools = SamplingTools::Allowed;
        builder
    }

    /// Handles requests for the roots: the directories and files that the client works on.
    #[must_use]
    pub fn roots<F, R>(mut self, list: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<Vec<Root>, InputRefused>> + Send + 'static,
    {
        self.handlers.roots = Some(handler(move |()| list()));
        self
    }

    /// Allows the server to answer tool calls with tasks.
    #[must_use]
    pub fn tasks(self) -> Self {
        self.extension(task::EXTENSION, RawJson::empty_object())
    }

    /// Declares an extension with its settings.
    #[must_use]
    pub fn extension(mut self, identifier: &str, settings: RawJson) -> Self {
        self.capabilities = self.capabilities.with_extension(identifier, settings);
        self
    }

    /// Sets the protocol revisions that the client supports, the best first. An empty list changes
    /// nothing.
    #[must_use]
    pub fn versions(mut self, versions: impl IntoIterator<Item = Version>) -> Self {
        let versions: Vec<Version> = versions.into_iter().collect();
        if !versions.is_empty() {
            self.versions = versions;
        }
        self
    }

    /// Sets the options of calls, such as timeouts; [`Client::with_options`] overrides them.
    #[must_use]
    pub fn options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the limits on pages, input and caching.
    #[must_use]
    pub fn limits(mut self, limits: ClientLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Builds the client. Nothing is sent yet.
    #[must_use]
    pub fn build(self) -> Client {
        let capabilities = self.declared_capabilities();
        let shared = ClientState {
            service: self.service,
            server: self.server,
            identity: ClientIdentity::new(
                RawJson::encode(&self.info).expect("an implementation is JSON"),
                RawJson::encode(&capabilities).expect("capabilities are JSON"),
            ),
            handlers: self.handlers,
            versions: ProtocolVersions::new(self.versions),
            limits: self.limits,
            cache: ResultCache::new(self.limits.cache_entries, self.limits.cache_bytes),
            schemas: OutputSchemas::new(self.limits.output_schemas),
            allows_tasks: capabilities.has_extension(task::EXTENSION),
            next_id: AtomicU64::new(1),
        };
        Client {
            shared: Arc::new(shared),
            options: self.options,
        }
    }

    fn declared_capabilities(&self) -> ClientCapabilities {
        let declare = |set: bool| set.then(RawJson::empty_object);
        let handlers = &self.handlers;
        let mut elicitation = ElicitationCapability::default();
        elicitation.form = declare(handlers.form.is_some());
        elicitation.url = declare(handlers.url.is_some());
        let any = elicitation != ElicitationCapability::default();
        let mut sampling = SamplingCapability::default();
        sampling.tools = declare(handlers.sampling_tools == SamplingTools::Allowed);
        let mut declared = self.capabilities.clone();
        declared.roots = declare(handlers.roots.is_some());
        declared.sampling = handlers.sampling.is_some().then_some(sampling);
        declared.elicitation = any.then_some(elicitation);
        declared
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("server", &self.server)
            .field("info", &self.info)
            .field("capabilities", &self.declared_capabilities())
            .field("options", &self.options)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
