use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use callgate_wire::{Method, RawJson, RpcError, Version, code};
use serde::Serialize;

/// Why a request failed: what happened, whose fault it was, and whether to try again.
///
/// A failure inside a tool is not an error but a result with `isError: true`.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    origin: Origin,
    retry: Retry,
    message: String,
    data: Option<RawJson>,
    /// The error of the upstream as it came.
    raw: Option<RawJson>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The message is not JSON.
    Parse,
    /// The message is not one that may be sent.
    InvalidRequest,
    /// The method does not exist.
    MethodNotFound,
    /// The parameters do not fit the method.
    InvalidParams,
    /// A mirrored header is missing, malformed or differs from the body.
    HeaderMismatch,
    /// The request needs a capability that its client did not declare.
    MissingCapability,
    /// The server does not speak the revision of the request.
    UnsupportedVersion,
    /// Too much is going on already.
    Busy,
    /// The peer answered with an error of its own.
    Rpc,
    /// The peer could not be started or reached.
    Connect,
    /// The peer refused our credentials or wants some.
    Unauthorized,
    /// The connection ended before the answer came.
    Closed,
    /// The answer did not come in time.
    Timeout,
    /// A message is larger than the limit.
    TooLarge,
    /// The peer broke the protocol.
    Protocol,
    /// Input was asked for too often, or cannot be given.
    InputRequired,
    /// We failed.
    Internal,
}

/// Whose fault it was.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The request cannot be served as it is.
    Caller,
    /// The failure is ours.
    Here,
    /// The failure is that of the server with this name.
    Upstream(Arc<str>),
}

/// Whether the same request may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Retry {
    /// The request may have had an effect, or would fail again.
    Never,
    /// The request has certainly had no effect and may succeed later.
    Safe,
}

impl Error {
    /// An error of this kind, with the origin that such errors usually have; never retried.
    #[must_use]
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        let origin = match kind {
            Kind::Internal | Kind::Busy | Kind::InputRequired => Origin::Here,
            Kind::Rpc
            | Kind::Connect
            | Kind::Unauthorized
            | Kind::Closed
            | Kind::Timeout
            | Kind::TooLarge
            | Kind::Protocol => Origin::Upstream(Arc::from("")),
            _ => Origin::Caller,
        };
        Self(Box::new(Inner {
            kind,
            origin,
            retry: Retry::Never,
            message: message.into(),
            data: None,
            raw: None,
            source: None,
        }))
    }

    /// The method does not exist.
    #[must_use]
    pub fn method_not_found(method: &Method) -> Self {
        Self::new(Kind::MethodNotFound, format!("method `{method}` not found"))
    }

    /// The parameters do not fit the method.
    #[must_use]
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(Kind::InvalidParams, message)
    }

    /// We failed.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Kind::Internal, message)
    }

    /// The request needs capabilities, given as a `ClientCapabilities` object.
    #[must_use]
    pub fn missing_capability(required: &RawJson) -> Self {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Data<'a> {
            required_capabilities: &'a RawJson,
        }
        Self::new(
            Kind::MissingCapability,
            "the client did not declare a required capability",
        )
        .with_encoded_data(&Data {
            required_capabilities: required,
        })
    }

    /// The server speaks `supported` and not `requested`.
    #[must_use]
    pub fn unsupported_version(requested: &str, supported: &[Version]) -> Self {
        #[derive(Serialize)]
        struct Data<'a> {
            supported: Vec<&'a str>,
            requested: &'a str,
        }
        let supported = supported.iter().map(|version| version.as_str()).collect();
        Self::new(
            Kind::UnsupportedVersion,
            format!("protocol version `{requested}` is not supported"),
        )
        .with_encoded_data(&Data {
            supported,
            requested,
        })
    }

    /// The server `name` answered with the error `raw`.
    #[must_use]
    pub fn rpc(name: &Arc<str>, raw: RawJson) -> Self {
        let view: Option<RpcError> = raw.decode().ok();
        let message = view.map_or_else(|| "malformed error".to_owned(), |error| error.message);
        let mut error = Self::new(Kind::Rpc, message).from_upstream(name);
        error.0.data = raw.get("data");
        error.0.raw = Some(raw);
        error
    }

    /// The same error, as the fault of the server `name`.
    #[must_use]
    pub fn from_upstream(mut self, name: &Arc<str>) -> Self {
        self.0.origin = Origin::Upstream(name.clone());
        self
    }

    /// The same error, raised before the request could have had any effect.
    #[must_use]
    pub fn retry_safe(mut self) -> Self {
        self.0.retry = Retry::Safe;
        self
    }

    /// The same error with more for the caller to read.
    #[must_use]
    pub fn with_data(mut self, data: RawJson) -> Self {
        self.0.data = Some(data);
        self
    }

    /// The same error with its cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    /// The same error for one more of those who waited for what failed.
    #[cfg(feature = "http-client")]
    pub(crate) fn shared(&self) -> Self {
        let inner = &self.0;
        Self(Box::new(Inner {
            kind: inner.kind,
            origin: inner.origin.clone(),
            retry: inner.retry,
            message: inner.message.clone(),
            data: inner.data.clone(),
            raw: inner.raw.clone(),
            source: inner.source.clone(),
        }))
    }

    fn with_encoded_data(self, data: &impl Serialize) -> Self {
        let data = RawJson::encode(data).expect("error data is plain JSON");
        self.with_data(data)
    }

    /// What happened.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// Whose fault it was.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.0.origin
    }

    /// Whether the same request may be sent again.
    #[must_use]
    pub fn retry(&self) -> Retry {
        self.0.retry
    }

    /// More for the caller to read.
    #[must_use]
    pub fn data(&self) -> Option<&RawJson> {
        self.0.data.as_ref()
    }

    /// The error that an upstream answered with, as it came.
    #[must_use]
    pub fn raw(&self) -> Option<&RawJson> {
        self.0.raw.as_ref()
    }

    /// The JSON-RPC code that a caller sees.
    #[must_use]
    pub fn code(&self) -> i64 {
        let upstream = || self.0.raw.as_ref()?.get("code")?.decode().ok();
        match self.0.kind {
            Kind::Parse => code::PARSE_ERROR,
            Kind::InvalidRequest => code::INVALID_REQUEST,
            Kind::MethodNotFound => code::METHOD_NOT_FOUND,
            Kind::InvalidParams => code::INVALID_PARAMS,
            Kind::HeaderMismatch => code::HEADER_MISMATCH,
            Kind::MissingCapability => code::MISSING_REQUIRED_CLIENT_CAPABILITY,
            Kind::UnsupportedVersion => code::UNSUPPORTED_PROTOCOL_VERSION,
            Kind::Busy => code::RATE_LIMITED,
            Kind::Rpc => upstream().unwrap_or(code::INTERNAL_ERROR),
            _ => code::INTERNAL_ERROR,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}
