use std::sync::Arc;

use callgate_wire::capabilities::ClientCapabilities;
use callgate_wire::logging::LogLevel;
use callgate_wire::task::EXTENSION;
use callgate_wire::{Id, Method, RawJson, Splice, Version, meta};

use crate::error::Error;
use crate::notifier::Notifier;
use crate::service::{BoxFuture, Call, Caller, Cx, PeerInfo, Reply, Service};

/// The service that answers, asked in the name of one old client.
#[derive(Clone)]
pub(super) struct Upstream {
    pub(super) service: Arc<dyn Service>,
    pub(super) caller: Caller,
    pub(super) identity: Arc<Identity>,
}

/// What an old client said of itself, as it has to be said with each request.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) capabilities: ClientCapabilities,
    client_info: Option<RawJson>,
    version: RawJson,
    encoded: RawJson,
}

/// One call in the name of an old client.
pub(super) struct Asking<'a> {
    pub(super) id: &'a Id,
    pub(super) method: &'a Method,
    pub(super) params: &'a RawJson,
    /// The lowest level of log messages to send.
    pub(super) level: Option<LogLevel>,
}

impl Identity {
    pub(super) fn new(capabilities: ClientCapabilities, client_info: Option<RawJson>) -> Self {
        let encoded = RawJson::encode(&capabilities).expect("capabilities are always JSON");
        Self {
            capabilities,
            client_info,
            version: RawJson::string(Version::LATEST.as_str()),
            encoded,
        }
    }
}

impl Upstream {
    /// The service, asked in the name of a client that has said nothing of itself.
    #[cfg(feature = "http-server")]
    pub(super) fn of_stranger(service: Arc<dyn Service>, caller: Caller) -> Self {
        Self {
            service,
            caller,
            identity: Arc::new(Identity::new(ClientCapabilities::default(), None)),
        }
    }

    /// The same service, asked as by a client that also knows the tasks of the extension.
    pub(super) fn with_tasks(&self) -> Self {
        let capabilities = self.identity.capabilities.clone();
        self.as_able_to(capabilities.with_extension(EXTENSION, RawJson::empty_object()))
    }

    /// The same service, asked as by a client that cannot be asked anything.
    pub(super) fn without_questions(&self) -> Self {
        self.as_able_to(ClientCapabilities {
            elicitation: None,
            roots: None,
            sampling: None,
            ..self.identity.capabilities.clone()
        })
    }

    fn as_able_to(&self, capabilities: ClientCapabilities) -> Self {
        let client_info = self.identity.client_info.clone();
        Self {
            identity: Arc::new(Identity::new(capabilities, client_info)),
            ..self.clone()
        }
    }

    /// Asks the service. Dropping the future cancels the call.
    pub(super) fn call(
        &self,
        asking: &Asking<'_>,
        notify: Notifier,
    ) -> Result<BoxFuture<'static, Result<Reply, Error>>, Error> {
        let params = self.stamp(asking)?;
        let meta = params.get("_meta").unwrap_or_else(RawJson::empty_object);
        let call = Call {
            method: asking.method.clone(),
            params,
            cx: Cx {
                id: asking.id.clone(),
                caller: self.caller.clone(),
                peer: Arc::new(PeerInfo::new(Version::LATEST, meta)),
                notify,
                deadline: None,
            },
        };
        let service = self.service.clone();
        Ok(Box::pin(async move { service.call(call).await }))
    }

    /// Sends a request that says nothing on the way, and waits for its result.
    pub(super) async fn result(&self, asking: &Asking<'_>) -> Result<RawJson, Error> {
        let reply = self.call(asking, Notifier::disabled())?.await?;
        Ok(reply.into_result())
    }

    /// The params with everything that the session knows; other metadata stays.
    fn stamp(&self, asking: &Asking<'_>) -> Result<RawJson, Error> {
        let identity = &self.identity;
        let mut splice = Splice::new(asking.params)
            .set(&["_meta", meta::PROTOCOL_VERSION], &identity.version)
            .set(&["_meta", meta::CLIENT_CAPABILITIES], &identity.encoded);
        splice = match &identity.client_info {
            Some(info) => splice.set(&["_meta", meta::CLIENT_INFO], info),
            None => splice.remove(&["_meta", meta::CLIENT_INFO]),
        };
        splice = match asking.level {
            Some(level) => {
                let level = RawJson::encode(&level).expect("a level is always JSON");
                splice.set(&["_meta", meta::LOG_LEVEL], &level)
            }
            None => splice.remove(&["_meta", meta::LOG_LEVEL]),
        };
        splice
            .finish()
            .map_err(|error| Error::invalid_params("`_meta` must be an object").with_source(error))
    }
}
