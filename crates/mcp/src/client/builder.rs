use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use callgate_wire::capabilities::{ClientCapabilities, ElicitationCapability, SamplingCapability};
use callgate_wire::elicitation::{ElicitFormParams, ElicitResult, ElicitUrlParams};
use callgate_wire::implementation::Implementation;
use callgate_wire::roots::Root;
use callgate_wire::sampling::{CreateMessageParams, CreateMessageResult};
use callgate_wire::{RawJson, Version, task};

use super::cache::Cache;
use super::handle::{Client, Limits, Shared};
use super::handlers::{Handlers, Refused, Sampling, SamplingTools, handler};
use super::options::{CallOptions, Timeouts};
use super::output::OutputSchemas;
use super::stamp::Identity;
use super::version::Versions;
use crate::service::Service;

/// Builds a [`Client`].
///
/// What the client's requests declare that it can do follows from the handlers that are set.
#[derive(Clone)]
pub struct Builder {
    service: Arc<dyn Service>,
    server: Arc<str>,
    info: Implementation,
    handlers: Handlers,
    capabilities: ClientCapabilities,
    versions: Vec<Version>,
    options: CallOptions,
    limits: Limits,
}

impl Builder {
    pub(super) fn new(service: Arc<dyn Service>) -> Self {
        Self {
            service,
            server: Arc::from(""),
            info: Implementation::new("callgate", env!("CARGO_PKG_VERSION")),
            handlers: Handlers::default(),
            capabilities: ClientCapabilities::default(),
            versions: vec![Version::V2026_07_28],
            options: CallOptions::default(),
            limits: Limits::default(),
        }
    }

    /// The name and version that requests give for the client.
    #[must_use]
    pub fn info(mut self, info: Implementation) -> Self {
        self.info = info;
        self
    }

    /// What the server is called in errors that are its fault.
    #[must_use]
    pub fn server_name(mut self, name: &str) -> Self {
        self.server = Arc::from(name);
        self
    }

    /// Fills in forms for the server: shows the user who asks for what, and lets them decline.
    ///
    /// [`with_defaults`](super::with_defaults) fills in what the form suggests.
    #[must_use]
    pub fn elicitation<F, R>(mut self, form: F) -> Self
    where
        F: Fn(ElicitFormParams) -> R + Send + Sync + 'static,
        R: Future<Output = ElicitResult> + Send + 'static,
    {
        self.handlers.form = Some(handler(form));
        self
    }

    /// Sends the user to a URL of the server, only ever with their consent and never by itself.
    ///
    /// Accepting says that the user agreed to go there, not that they are done.
    #[must_use]
    pub fn elicitation_url<F, R>(mut self, visit: F) -> Self
    where
        F: Fn(ElicitUrlParams) -> R + Send + Sync + 'static,
        R: Future<Output = ElicitResult> + Send + 'static,
    {
        self.handlers.url = Some(handler(visit));
        self
    }

    /// Lets the server use the client's model, without tools.
    #[must_use]
    pub fn sampling<F, R>(self, sample: F) -> Self
    where
        F: Fn(CreateMessageParams) -> R + Send + Sync + 'static,
        R: Future<Output = Result<CreateMessageResult, Refused>> + Send + 'static,
    {
        self.sampling_by(sample, SamplingTools::Refused)
    }

    /// Lets the server use the client's model and offer tools to it.
    #[must_use]
    pub fn sampling_with_tools<F, R>(self, sample: F) -> Self
    where
        F: Fn(CreateMessageParams) -> R + Send + Sync + 'static,
        R: Future<Output = Result<CreateMessageResult, Refused>> + Send + 'static,
    {
        self.sampling_by(sample, SamplingTools::Allowed)
    }

    fn sampling_by<F, R>(mut self, sample: F, tools: SamplingTools) -> Self
    where
        F: Fn(CreateMessageParams) -> R + Send + Sync + 'static,
        R: Future<Output = Result<CreateMessageResult, Refused>> + Send + 'static,
    {
        let handler = handler(sample);
        self.handlers.sampling = Some(Sampling { handler, tools });
        self
    }

    /// Tells the server which directories and files the client works on.
    #[must_use]
    pub fn roots<F, R>(mut self, list: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<Vec<Root>, Refused>> + Send + 'static,
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

    /// The revisions that the client speaks, the best first; none leaves them as they are.
    #[must_use]
    pub fn versions(mut self, versions: impl IntoIterator<Item = Version>) -> Self {
        let versions: Vec<Version> = versions.into_iter().collect();
        if !versions.is_empty() {
            self.versions = versions;
        }
        self
    }

    /// How long to wait for answers.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.options = self.options.timeouts(timeouts);
        self
    }

    /// How calls are made, unless [`Client::with_options`] says otherwise.
    #[must_use]
    pub fn options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    /// How much to put up with from the server.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The client. Nothing is sent yet.
    #[must_use]
    pub fn build(self) -> Client {
        let capabilities = self.declared();
        let encoded = |value| RawJson::encode(value).expect("what a client is, is JSON");
        let shared = Shared {
            service: self.service,
            server: self.server,
            identity: Identity {
                info: RawJson::encode(&self.info).expect("an implementation is JSON"),
                capabilities: encoded(&capabilities),
            },
            handlers: self.handlers,
            versions: Versions::new(self.versions),
            limits: self.limits,
            cache: Cache::new(self.limits.cache),
            schemas: OutputSchemas::new(self.limits.schemas),
            tasks: capabilities.has_extension(task::EXTENSION),
            ids: AtomicU64::new(1),
        };
        Client {
            shared: Arc::new(shared),
            options: self.options,
        }
    }

    fn declared(&self) -> ClientCapabilities {
        let declare = |set: bool| set.then(RawJson::empty_object);
        let form = declare(self.handlers.form.is_some());
        let url = declare(self.handlers.url.is_some());
        let sampling = |sampling: &Sampling| SamplingCapability {
            context: None,
            tools: declare(sampling.tools == SamplingTools::Allowed),
        };
        let any = form.is_some() || url.is_some();
        ClientCapabilities {
            roots: declare(self.handlers.roots.is_some()),
            sampling: self.handlers.sampling.as_ref().map(sampling),
            elicitation: any.then_some(ElicitationCapability { form, url }),
            ..self.capabilities.clone()
        }
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("server", &self.server)
            .field("info", &self.info)
            .field("handlers", &self.handlers)
            .field("options", &self.options)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
