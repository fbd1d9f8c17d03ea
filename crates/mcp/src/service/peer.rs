use callgate_wire::logging::LogLevel;
use callgate_wire::{Id, RawJson, RawParams, Version, meta};

/// Claims of a peer about itself in the `_meta` of one request. None of it is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerInfo {
    version: Version,
    meta: PeerMeta,
}

/// The `_meta` of a request, and those of its members that the protocol reserves for requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PeerMeta {
    whole: RawJson,
    pub(crate) version: Option<RawJson>,
    pub(crate) capabilities: Option<RawJson>,
    client_info: Option<RawJson>,
    log_level: Option<RawJson>,
    progress_token: Option<RawJson>,
}

impl PeerInfo {
    /// A peer that speaks `version` and sent `meta` as the `_meta` of its request.
    #[must_use]
    pub fn new(version: Version, meta: RawJson) -> Self {
        let members = meta.pick(PeerMeta::MEMBERS);
        PeerMeta::new(meta, members).of(version)
    }

    /// The protocol revision of the request.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The whole `_meta` of the request.
    #[must_use]
    pub fn meta(&self) -> &RawJson {
        &self.meta.whole
    }

    /// The `ClientCapabilities`; `{}` if the client sent none.
    #[must_use]
    pub fn capabilities(&self) -> RawJson {
        self.meta
            .capabilities
            .clone()
            .unwrap_or_else(RawJson::empty_object)
    }

    /// True if the client declares the capability at `path`, for example `["elicitation", "url"]`.
    #[must_use]
    pub fn declares(&self, path: &[&str]) -> bool {
        self.capabilities().at(path).is_some()
    }

    /// The `Implementation` of the client, for display only.
    #[must_use]
    pub fn client_info(&self) -> Option<RawJson> {
        self.meta.client_info.clone()
    }

    /// Lowest level of log messages that the client wants, if it wants any.
    ///
    /// Servers refuse requests with levels that do not exist.
    #[must_use]
    pub fn log_level(&self) -> Option<LogLevel> {
        self.meta.log_level.as_ref()?.decode().ok()
    }

    /// Token that progress of this request is reported under, if the client wants progress.
    #[must_use]
    pub fn progress_token(&self) -> Option<Id> {
        let token = self.meta.progress_token.clone();
        token.and_then(|token| Id::try_from(token).ok())
    }

    /// Name of the protocol revision, as it came.
    pub(crate) fn named_version(&self) -> Option<&RawJson> {
        self.meta.version.as_ref()
    }

    /// Lowest level of log messages that the client wants, as it came.
    pub(crate) fn raw_log_level(&self) -> Option<&RawJson> {
        self.meta.log_level.as_ref()
    }

    /// Token that progress of this request is reported under, as it came.
    #[cfg(feature = "http-client")]
    pub(crate) fn raw_progress_token(&self) -> Option<&RawJson> {
        self.meta.progress_token.as_ref()
    }

    /// Reads the params of a request that is known to be of a revision that we speak.
    ///
    /// `otherwise` is the revision of a request that does not name one, such as one that a service
    /// in this process makes.
    pub(crate) fn of_params(params: &RawParams, otherwise: Version) -> Self {
        let Some(meta) = PeerMeta::find(params) else {
            return Self::new(otherwise, RawJson::empty_object());
        };
        let named = meta.version.as_ref().and_then(RawJson::text);
        let version = named.and_then(|named| Version::parse(&named));
        meta.of(version.unwrap_or(otherwise))
    }
}

impl PeerMeta {
    /// Members of `_meta` that the protocol reserves for requests.
    pub(crate) const MEMBERS: [&str; 5] = [
        meta::PROTOCOL_VERSION,
        meta::CLIENT_CAPABILITIES,
        meta::CLIENT_INFO,
        meta::LOG_LEVEL,
        meta::PROGRESS_TOKEN,
    ];

    /// Finds the `_meta` of a request, if it is an object.
    pub(crate) fn find(params: &RawParams) -> Option<Self> {
        let whole = params.get("_meta").filter(RawJson::is_object)?;
        Some(Self::new(whole, params.pick_meta(Self::MEMBERS)))
    }

    /// The `_meta` that has these [`Self::MEMBERS`].
    pub(crate) fn new(whole: RawJson, members: [Option<RawJson>; 5]) -> Self {
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

    /// The claims of a peer in a request of this revision.
    pub(crate) fn of(self, version: Version) -> PeerInfo {
        PeerInfo {
            version,
            meta: self,
        }
    }
}
