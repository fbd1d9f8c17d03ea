use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use callgate_wire::{Method, RawJson, RpcError, Version, code};
use serde::Serialize;
use serde_json::json;

/// Failure of a request: its kind, its origin, and whether a retry is safe.
///
/// A failure inside a tool is not an error but a result with `isError: true`.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    kind: Kind,
    origin: Origin,
    retry: Retry,
    retry_after: Option<Duration>,
    message: String,
    /// Code in place of the one that the kind stands for.
    code: Option<i64>,
    data: Option<RawJson>,
    /// The error of the upstream as it came.
    raw: Option<RawJson>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// Kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
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
    /// Too many requests are in flight already.
    Busy,
    /// A rule forbids the request.
    Denied,
    /// The caller has used up its share; see [`Error::retry_after`].
    RateLimited,
    /// The request waits for the approval of a person.
    ApprovalRequired,
    /// A failure with a code of its own; see [`Error::custom`].
    Custom,
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
    /// This process failed.
    Internal,
}

/// Party at fault.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// The caller: the request cannot be served as it is.
    Caller,
    /// This process.
    Here,
    /// The server with this name.
    Upstream(Arc<str>),
}

/// Safety of sending the same request again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
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
            Kind::Internal
            | Kind::Busy
            | Kind::InputRequired
            | Kind::Denied
            | Kind::RateLimited
            | Kind::ApprovalRequired
            | Kind::Custom => Origin::Here,
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
            retry_after: None,
            message: message.into(),
            code: None,
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

    /// This process failed.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Kind::Internal, message)
    }

    /// A rule forbids the request; the caller reads `message`.
    #[must_use]
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(Kind::Denied, message).with_encoded_data(&json!({ "reason": "denied" }))
    }

    /// The caller has used up its share, and may try again after `retry_after`.
    #[must_use]
    pub fn rate_limited(retry_after: Duration) -> Self {
        let message = "Rate limit exceeded. Please try again later.";
        let milliseconds = u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX);
        let data = json!({ "reason": "rate_limited", "retryAfterMs": milliseconds });
        let error = Self::new(Kind::RateLimited, message).with_encoded_data(&data);
        error.with_retry_after(retry_after).retry_safe()
    }

    /// The request waits for the approval of a person; `message` says how to give it.
    #[must_use]
    pub fn approval_required(message: impl Into<String>) -> Self {
        let data = json!({ "reason": "approval_required" });
        let error = Self::new(Kind::ApprovalRequired, message).with_encoded_data(&data);
        error.retry_safe()
    }

    /// A failure with a JSON-RPC code of its own, which is not the fault of an upstream.
    #[must_use]
    pub fn custom(code: i64, message: impl Into<String>) -> Self {
        let mut error = Self::new(Kind::Custom, message);
        error.0.code = Some(code);
        error
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

    /// Marks the error as safe to retry: the request cannot have had any effect.
    #[must_use]
    pub fn retry_safe(mut self) -> Self {
        self.0.retry = Retry::Safe;
        self
    }

    /// Sets the time after which a retry may succeed.
    #[must_use]
    pub fn with_retry_after(mut self, retry_after: Duration) -> Self {
        self.0.retry_after = Some(retry_after);
        self
    }

    /// The same error with `data` for the caller to read.
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

    /// The same error in other words, without its cause, which would tell the old ones.
    #[must_use]
    pub fn reworded(mut self, message: impl Into<String>) -> Self {
        self.0.message = message.into();
        self.0.source = None;
        self
    }

    /// The same failure, told in another code and other words.
    pub(crate) fn recoded(mut self, code: i64, message: String, data: Option<RawJson>) -> Self {
        self.0.code = Some(code);
        self.0.message = message;
        self.0.data = data;
        self.0.raw = None;
        self
    }

    /// A copy for another request that waited for the same operation.
    #[cfg(feature = "http-client")]
    pub(crate) fn shared(&self) -> Self {
        Self(self.0.clone())
    }

    fn with_encoded_data(self, data: &impl Serialize) -> Self {
        let data = RawJson::encode(data).expect("error data is plain JSON");
        self.with_data(data)
    }

    /// The kind of failure.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The party at fault.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.0.origin
    }

    /// Safety of sending the same request again.
    #[must_use]
    pub fn retry(&self) -> Retry {
        self.0.retry
    }

    /// Time after which a retry may succeed, where it is known.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The `data` of the JSON-RPC error.
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
            _ if let Some(code) = self.0.code => code,
            Kind::Parse => code::PARSE_ERROR,
            Kind::InvalidRequest => code::INVALID_REQUEST,
            Kind::MethodNotFound => code::METHOD_NOT_FOUND,
            Kind::InvalidParams => code::INVALID_PARAMS,
            Kind::HeaderMismatch => code::HEADER_MISMATCH,
            Kind::MissingCapability => code::MISSING_REQUIRED_CLIENT_CAPABILITY,
            Kind::UnsupportedVersion => code::UNSUPPORTED_PROTOCOL_VERSION,
            Kind::Busy | Kind::RateLimited => code::RATE_LIMITED,
            Kind::Denied => code::DENIED,
            Kind::ApprovalRequired => code::APPROVAL_REQUIRED,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_a_policy_name_the_next_step() {
        let check = |error: Error, kind, code, data: &str, retry| {
            let origin = Origin::Here;
            assert_eq!((error.kind(), error.code()), (kind, code));
            assert_eq!((error.origin(), error.retry()), (&origin, retry));
            assert_eq!(error.data().map_or("", RawJson::as_str), data);
        };
        check(
            Error::denied("rule 3"),
            Kind::Denied,
            40300,
            r#"{"reason":"denied"}"#,
            Retry::Never,
        );
        let limited = Error::rate_limited(Duration::from_millis(1500));
        assert_eq!(limited.retry_after(), Some(Duration::from_millis(1500)));
        check(
            limited,
            Kind::RateLimited,
            42900,
            r#"{"reason":"rate_limited","retryAfterMs":1500}"#,
            Retry::Safe,
        );
        check(
            Error::approval_required("run `callgate approve 7`"),
            Kind::ApprovalRequired,
            42800,
            r#"{"reason":"approval_required"}"#,
            Retry::Safe,
        );
        let data = RawJson::string("more");
        check(
            Error::custom(-32050, "no").with_data(data),
            Kind::Custom,
            -32050,
            r#""more""#,
            Retry::Never,
        );
    }
}
