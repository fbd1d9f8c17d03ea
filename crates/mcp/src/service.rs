use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use callgate_wire::logging::LogLevel;
use callgate_wire::{Id, Method, RawJson, Splice, Version, meta};
use tokio::time::Instant;

use crate::error::Error;
use crate::notifier::Notifier;

/// Answers MCP requests. Servers, clients, hubs and gateways are all services.
pub trait Service: Send + Sync + 'static {
    /// Handles one request. Dropping the future cancels it.
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>>;
}

/// A boxed future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One request on its way to a [`Service`].
#[derive(Debug, Clone)]
pub struct Call {
    /// What is asked.
    pub method: Method,
    /// The parameters as they came, `_meta` included; always an object.
    pub params: RawJson,
    /// Who asks, and how to reach them while the call runs.
    pub cx: Cx,
}

/// The surroundings of a [`Call`].
#[derive(Debug, Clone)]
pub struct Cx {
    /// The id of the request on the hop it came by; subscriptions are named after it.
    pub id: Id,
    /// The authority the request acts with.
    pub caller: Caller,
    /// What the peer says of itself in this request.
    pub peer: Arc<PeerInfo>,
    /// Where notifications about this request go.
    pub notify: Notifier,
    /// When the caller stops waiting.
    pub deadline: Option<Instant>,
}

/// The authority a request acts with, as the transport has verified it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Caller {
    /// The process that started us, or this process itself.
    Local,
    /// Somebody who did not have to say who they are.
    Anonymous,
    /// Somebody whose credentials were checked.
    Principal(Arc<str>),
}

/// What a peer says of itself in one request. None of it is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerInfo {
    version: Version,
    meta: PeerMeta,
}

/// The `_meta` of a request, and the members of it that say who asks and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PeerMeta {
    whole: RawJson,
    pub(crate) version: Option<RawJson>,
    pub(crate) capabilities: Option<RawJson>,
    client_info: Option<RawJson>,
    pub(crate) log_level: Option<RawJson>,
    progress_token: Option<RawJson>,
}

/// How a request ended well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The result.
    Complete(RawJson),
    /// The server needs input first: the caller answers by asking again.
    InputRequired(RawJson),
}

impl PeerInfo {
    /// A peer that speaks `version` and sent `meta` as the `_meta` of its request.
    #[must_use]
    pub fn new(version: Version, meta: RawJson) -> Self {
        PeerMeta::read(meta).of(version)
    }

    /// The revision of the request.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The whole `_meta` of the request.
    #[must_use]
    pub fn meta(&self) -> &RawJson {
        &self.meta.whole
    }

    /// What the client can do; `{}` where it did not say.
    #[must_use]
    pub fn capabilities(&self) -> RawJson {
        self.meta
            .capabilities
            .clone()
            .unwrap_or_else(RawJson::empty_object)
    }

    /// Whether the client declares the capability at `path`, for example `["elicitation", "url"]`.
    #[must_use]
    pub fn declares(&self, path: &[&str]) -> bool {
        self.capabilities().at(path).is_some()
    }

    /// The name and version that the client goes by, for display only.
    #[must_use]
    pub fn client_info(&self) -> Option<RawJson> {
        self.meta.client_info.clone()
    }

    /// The lowest level of log messages that the client wants, if it wants any.
    ///
    /// Servers refuse requests with levels that do not exist.
    #[must_use]
    pub fn log_level(&self) -> Option<LogLevel> {
        self.meta.log_level.as_ref()?.decode().ok()
    }

    /// The token that progress of this request is reported under, if the client wants any.
    #[must_use]
    pub fn progress_token(&self) -> Option<Id> {
        let token = self.meta.progress_token.clone();
        token.and_then(|token| Id::try_from(token).ok())
    }
}

impl PeerMeta {
    const MEMBERS: [&str; 5] = [
        meta::PROTOCOL_VERSION,
        meta::CLIENT_CAPABILITIES,
        meta::CLIENT_INFO,
        meta::LOG_LEVEL,
        meta::PROGRESS_TOKEN,
    ];

    pub(crate) fn read(whole: RawJson) -> Self {
        let members = whole.pick(Self::MEMBERS);
        Self::new(whole, members)
    }

    /// Finds the `_meta` of a request and the members `keys` beside it, in one pass over its
    /// params: every request pays for this.
    pub(crate) fn find<const N: usize>(
        params: &RawJson,
        keys: [&str; N],
    ) -> (Option<Self>, [Option<RawJson>; N]) {
        let (beside, whole, members) = params.pick_within(keys, "_meta", Self::MEMBERS);
        let whole = whole.filter(RawJson::is_object);
        (whole.map(|whole| Self::new(whole, members)), beside)
    }

    fn new(whole: RawJson, members: [Option<RawJson>; 5]) -> Self {
        let [
            version,
            capabilities,
            client_info,
            log_level,
            progress_token,
        ] = members;
        Self {
            whole,
            version,
            capabilities,
            client_info,
            log_level,
            progress_token,
        }
    }

    /// What the peer says of itself in a request of this revision.
    pub(crate) fn of(self, version: Version) -> PeerInfo {
        PeerInfo {
            version,
            meta: self,
        }
    }
}

impl Reply {
    /// How the subscription of the request `id` ends well.
    pub(crate) fn subscription_end(id: &Id) -> Self {
        let end = Splice::new(&RawJson::empty_object())
            .set(&["resultType"], &RawJson::string("complete"))
            .set(&["_meta", meta::SUBSCRIPTION_ID], id.as_raw())
            .finish()
            .expect("members can be added to an empty object");
        Self::Complete(end)
    }

    /// The result, whatever kind it is.
    #[must_use]
    pub fn into_result(self) -> RawJson {
        match self {
            Self::Complete(result) | Self::InputRequired(result) => result,
        }
    }
}

impl<S: Service + ?Sized> Service for Arc<S> {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        S::call(self, call)
    }
}
