use std::sync::Arc;

use callgate_wire::logging::LogLevel;
use callgate_wire::{RawJson, RawParams, Request, Version, meta};

use crate::error::Error;
use crate::notifier::Notifier;
use crate::service::{Call, Cx, PeerInfo, PeerMeta};

/// Revisions that this server speaks.
pub(crate) const SUPPORTED: [Version; 1] = [Version::V2026_07_28];

/// Complete metadata of a request, whose revision may be one that this server does not speak.
#[derive(Debug)]
pub(crate) struct RequestMeta {
    /// Shared from the start, since it is large and goes through several functions. Its revision
    /// counts only if this server speaks it.
    peer: Arc<PeerInfo>,
    is_spoken: bool,
}

/// Reason why the metadata of a request is incomplete.
///
/// All requests of older revisions have it, so it becomes an error only if none of these takes the
/// request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IncompleteMeta {
    /// There is no `_meta`, or it is no object.
    Absent,
    /// `_meta` lacks this member, or it has a wrong type.
    Without(&'static str),
}

impl IncompleteMeta {
    /// The error of a request of the newest revision.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::Absent => Error::invalid_params("params must have the object `_meta`"),
            Self::Without(key) => Error::invalid_params(format!("`_meta` must have `{key}`")),
        }
    }
}

impl RequestMeta {
    /// Reads the metadata in the params of a request.
    pub(crate) fn read(params: &RawParams) -> Result<Self, IncompleteMeta> {
        let meta = PeerMeta::find(params).ok_or(IncompleteMeta::Absent)?;
        let Some(named) = meta.version.as_ref().and_then(RawJson::text) else {
            return Err(IncompleteMeta::Without(meta::PROTOCOL_VERSION));
        };
        let version = Version::parse(&named).filter(|version| SUPPORTED.contains(version));
        let is_spoken = version.is_some();
        if !meta.capabilities.as_ref().is_some_and(RawJson::is_object) {
            return Err(IncompleteMeta::Without(meta::CLIENT_CAPABILITIES));
        }
        let peer = Arc::new(meta.of(version.unwrap_or(Version::LATEST)));
        Ok(Self { peer, is_spoken })
    }

    /// True if the request names the revision `version`.
    #[cfg(feature = "http-server")]
    pub(crate) fn names(&self, version: &str) -> bool {
        let named = self.peer.named_version();
        named.is_some_and(|named| named.is(version))
    }

    /// Claims of the peer about itself.
    ///
    /// # Errors
    /// This server does not speak its revision, or its log level is unknown.
    pub(crate) fn into_peer(self) -> Result<Arc<PeerInfo>, Error> {
        if !self.is_spoken {
            let requested = self.peer.named_version().and_then(RawJson::text);
            return Err(Error::unsupported_version(
                &requested.unwrap_or_default(),
                &SUPPORTED,
            ));
        }
        let log_level = self.peer.raw_log_level();
        if let Some(Err(error)) = log_level.map(RawJson::decode::<LogLevel>) {
            let text = format!("`{}` is not a log level", meta::LOG_LEVEL);
            return Err(Error::invalid_params(text).with_source(error));
        }
        Ok(self.peer)
    }
}

/// The call that a request makes once its metadata has been checked. `origin` sets where it is from.
pub(crate) fn call(
    request: Request,
    peer: Arc<PeerInfo>,
    notify: Notifier,
    origin: impl FnOnce(&mut Cx),
) -> Call {
    let Request { id, method, params } = request;
    // A service may report progress unasked; the client must not see it.
    let notify = match peer.progress_token() {
        Some(_) => notify,
        None => notify.without_progress(),
    };
    let mut cx = Cx::of_peer(id, peer);
    cx.notify = notify;
    origin(&mut cx);
    Call::of_read_meta(method, params, cx)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use callgate_wire::Limits;

    fn check(params: &str, expect: Result<&str, (Kind, &str)>) {
        let params = RawJson::parse(params.to_owned().into(), &Limits::default()).unwrap();
        let seen = RequestMeta::read(&params.into())
            .map_err(IncompleteMeta::into_error)
            .and_then(RequestMeta::into_peer)
            .map(|peer| peer.capabilities().as_str().to_owned())
            .map_err(|error| (error.kind(), error.to_string()));
        assert_eq!(
            seen,
            expect
                .map(str::to_owned)
                .map_err(|(kind, text)| (kind, text.to_owned()))
        );
    }

    #[test]
    fn a_request_must_carry_its_metadata() {
        const NO_VERSION: &str = "`_meta` must have `io.modelcontextprotocol/protocolVersion`";
        const NO_CAPABILITIES: &str =
            "`_meta` must have `io.modelcontextprotocol/clientCapabilities`";
        check(
            "{}",
            Err((Kind::InvalidParams, "params must have the object `_meta`")),
        );
        check(
            r#"{"_meta":1}"#,
            Err((Kind::InvalidParams, "params must have the object `_meta`")),
        );
        check(r#"{"_meta":{}}"#, Err((Kind::InvalidParams, NO_VERSION)));
        check(
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":1}}"#,
            Err((Kind::InvalidParams, NO_VERSION)),
        );
        check(
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#,
            Err((Kind::InvalidParams, NO_CAPABILITIES)),
        );
        check(
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}}"#,
            Ok(r#"{"roots":{}}"#),
        );
    }

    #[test]
    fn an_unknown_log_level_is_refused_for_every_method() {
        const UNKNOWN: &str = "`io.modelcontextprotocol/logLevel` is not a log level";
        for level in [r#""loud""#, "3", "null"] {
            check(&with_log_level(level), Err((Kind::InvalidParams, UNKNOWN)));
        }
        check(&with_log_level(r#""notice""#), Ok("{}"));
    }

    fn with_log_level(level: &str) -> String {
        let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;
        format!(r#"{{"_meta":{{{meta},"io.modelcontextprotocol/logLevel":{level}}}}}"#)
    }

    #[test]
    fn another_revision_is_refused_by_name() {
        check(
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"1999-01-01","io.modelcontextprotocol/clientCapabilities":{}}}"#,
            Err((
                Kind::UnsupportedVersion,
                "protocol version `1999-01-01` is not supported",
            )),
        );
    }
}
