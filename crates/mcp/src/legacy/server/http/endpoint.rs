use std::sync::Arc;
use std::time::Duration;

use callgate_wire::{Frame, Limits, Version, meta};
use http::request::Parts;
use http::{Method, Response};

use super::headers::{self, HeaderField};
use super::session_table::{SessionEntry, SessionId, SessionTable, SessionTransport};
use super::streams::{RequestSink, Retention, Streams};
use crate::legacy::server::client_request::RequestOrigin;
use crate::legacy::server::handshake::is_handshake;
use crate::server::{CallerBudget, ClientMessage, SessionLimits, UnsentBudget};
use crate::service::{Caller, Service};
use crate::transport::http::server::{
    Admission, Draining, HttpServerConfig, HttpSessions, ResponseBody, SessionAnswer,
};

/// The part of an HTTP endpoint that serves old clients. Dropping it closes their sessions.
pub(crate) struct SessionEndpoint {
    pub(super) service: Arc<dyn Service>,
    pub(super) limits: SessionLimits,
    /// Path of the endpoint.
    pub(super) path: String,
    /// Limits of one message.
    pub(super) json: Limits,
    /// Interval of keep-alive comments on a silent event stream.
    pub(super) keep_alive: Duration,
    pub(super) draining: Draining,
    /// Memory of unsent answers, shared with the newest revision.
    pub(super) unsent: Arc<UnsentBudget>,
    pub(super) sessions: Arc<SessionTable>,
}

/// Part of the old protocols that a message belongs to.
pub(super) enum Claim {
    /// The message opens a session.
    Handshake,
    /// It belongs to a session of Streamable HTTP.
    Session(Arc<SessionEntry>),
    /// It belongs to a session of HTTP+SSE, whose stream is open.
    EventStream(Arc<SessionEntry>),
    /// It names a session that does not exist, or no longer.
    NoSession,
    /// It stands alone, without a session, and is of this revision.
    Stateless(Version),
    /// It belongs to a session, but names an unknown revision.
    UnknownVersion,
}

impl SessionEndpoint {
    /// The endpoint of `service`, if `config` has limits for old clients.
    pub(crate) fn new(
        service: Arc<dyn Service>,
        config: &HttpServerConfig,
        draining: Draining,
        unsent: &Arc<UnsentBudget>,
    ) -> Option<Self> {
        let limits = config.sessions?;
        Some(Self {
            service,
            limits,
            path: config.path.clone(),
            json: config.limits.json(),
            keep_alive: config.limits.keep_alive,
            draining,
            unsent: unsent.clone(),
            sessions: SessionTable::new(limits),
        })
    }

    /// A new session of `caller`.
    pub(super) fn new_entry(&self, caller: &Caller, transport: SessionTransport) -> SessionEntry {
        let unsent = CallerBudget::new(&self.unsent, caller);
        SessionEntry::new(caller.clone(), transport, &self.limits, unsent)
    }

    /// The sink of a stream outside of any session, for one response to `caller`.
    pub(super) fn single_sink(&self, caller: &Caller) -> Arc<RequestSink> {
        let unsent = CallerBudget::new(&self.unsent, caller);
        Streams::new(0, unsent).sink(Retention::Nothing, true)
    }

    /// The session of Streamable HTTP that the head names; invalid if `caller` has no such session.
    pub(super) fn named_session(
        &self,
        head: &Parts,
        caller: &Caller,
    ) -> HeaderField<(SessionId, Arc<SessionEntry>)> {
        let id = match headers::session(&head.headers) {
            HeaderField::Value(id) => id,
            HeaderField::Absent => return HeaderField::Absent,
            HeaderField::Invalid => return HeaderField::Invalid,
        };
        let transport = SessionTransport::Streamable;
        let entry = self.sessions.find(&id, caller, transport);
        entry.map_or(HeaderField::Invalid, |entry| {
            HeaderField::Value((id, entry))
        })
    }

    /// Decides whether a message is one of an older revision, and what it belongs to: here, for all
    /// of HTTP.
    ///
    /// The header of a newer revision decides first, then the query of HTTP+SSE, then the metadata,
    /// and at last the session that the header names.
    fn claim(
        &self,
        head: &Parts,
        version: Option<&str>,
        caller: &Caller,
        message: &ClientMessage,
    ) -> Option<Claim> {
        let opens = matches!(message, ClientMessage::One(Frame::Request(it)) if is_handshake(it));
        let version = version.map(Version::parse);
        let is_modern = matches!(version, Some(Some(version)) if version.is_modern());
        // The newest revision has no handshake, so a handshake is old whatever its header says.
        if is_modern && !opens {
            return None;
        }
        match headers::queried_session(&head.uri) {
            HeaderField::Absent => {}
            HeaderField::Invalid => return Some(Claim::NoSession),
            HeaderField::Value(id) => {
                let entry = self
                    .sessions
                    .find(&id, caller, SessionTransport::EventStream);
                return Some(entry.map_or(Claim::NoSession, Claim::EventStream));
            }
        }
        if names_version(message) {
            return None;
        }
        if opens {
            return Some(Claim::Handshake);
        }
        let entry = match self.named_session(head, caller) {
            HeaderField::Absent => None,
            // Before the revision is looked at: 404 tells the client to open a new session.
            HeaderField::Invalid => return Some(Claim::NoSession),
            HeaderField::Value((_, entry)) => Some(entry),
        };
        match (version, entry) {
            (Some(None), Some(_)) => Some(Claim::UnknownVersion),
            // Newer than any revision known here: the error of the newest one lists those that are.
            (Some(None), None) => None,
            (_, Some(entry)) => Some(Claim::Session(entry)),
            (Some(Some(version)), None) => Some(Claim::Stateless(version)),
            // The specification says to assume this revision if none is named.
            (None, None) => Some(Claim::Stateless(Version::V2025_03_26)),
        }
    }
}

impl HttpSessions for SessionEndpoint {
    fn post<'a>(
        &'a self,
        head: &Parts,
        version: Option<&str>,
        admission: Admission,
        message: ClientMessage,
    ) -> Result<SessionAnswer<'a>, ClientMessage> {
        match self.claim(head, version, &admission.caller, &message) {
            None => Err(message),
            Some(claim) => Ok(self.answer_post(claim, admission, message)),
        }
    }

    fn without_message(&self, head: &Parts, admission: Admission) -> Response<ResponseBody> {
        match head.method {
            Method::DELETE => self.delete(head, &admission),
            _ => self.get(head, &admission),
        }
    }
}

/// Origin of a request in the session of `entry`, or without a session.
pub(super) fn origin(admission: Admission, entry: Option<&SessionEntry>) -> RequestOrigin {
    let mut source = admission.source;
    source.conversation = entry.map(|entry| entry.conversation.clone());
    RequestOrigin {
        caller: admission.caller,
        source,
        trace: admission.trace,
    }
}

/// True if the metadata of a message names a revision, which only the newest one does.
fn names_version(message: &ClientMessage) -> bool {
    const PATH: [&str; 2] = ["_meta", meta::PROTOCOL_VERSION];
    let version = match message {
        ClientMessage::One(Frame::Request(request)) => request.params.at(&PATH),
        ClientMessage::One(Frame::Notification(notification)) => notification.params.at(&PATH),
        _ => None,
    };
    version.is_some()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::error::Error;
    use crate::service::{BoxFuture, Call, Reply};
    use bytes::Bytes;

    struct Silent;

    impl Service for Silent {
        fn call(&self, _: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            Box::pin(std::future::pending())
        }
    }

    /// A server without sessions.
    pub(in super::super) fn endpoint(service: Arc<dyn Service>) -> SessionEndpoint {
        let limits = SessionLimits::default();
        SessionEndpoint {
            service,
            limits,
            path: String::new(),
            json: Limits::default(),
            keep_alive: Duration::ZERO,
            draining: Draining::never(),
            unsent: UnsentBudget::new(usize::MAX, usize::MAX),
            sessions: SessionTable::new(limits),
        }
    }

    /// A server with one session, and its id.
    fn subject() -> (SessionEndpoint, SessionId) {
        let endpoint = endpoint(Arc::new(Silent));
        let slot = endpoint.sessions.reserve(&Caller::Anonymous).ok().unwrap();
        let entry = endpoint.new_entry(&Caller::Anonymous, SessionTransport::Streamable);
        let id = endpoint.sessions.insert(slot, Arc::new(entry));
        (endpoint, id)
    }

    fn claimed(
        endpoint: &SessionEndpoint,
        message: &str,
        version: Option<&str>,
        session: Option<&str>,
    ) -> &'static str {
        let mut head = http::Request::builder().uri("/mcp");
        if let Some(session) = session {
            head = head.header("mcp-session-id", session);
        }
        let (head, ()) = head.body(()).unwrap().into_parts();
        let message = Bytes::copy_from_slice(message.as_bytes());
        let message = ClientMessage::One(Frame::parse(&message, &Limits::default()).unwrap());
        match endpoint.claim(&head, version, &Caller::Anonymous, &message) {
            None => "newest",
            Some(Claim::Handshake) => "handshake",
            Some(Claim::Session(_)) => "session",
            Some(Claim::EventStream(_)) => "event stream",
            Some(Claim::NoSession) => "no session",
            Some(Claim::Stateless(version)) => version.as_str(),
            Some(Claim::UnknownVersion) => "unknown version",
        }
    }

    #[tokio::test]
    async fn metadata_and_then_the_header_and_then_the_session_decide() {
        let (endpoint, id) = subject();
        let (open, gone) = (Some(id.as_str()), Some("gone"));
        let (modern, old, unknown) = (Some("2026-07-28"), Some("2025-06-18"), Some("1999-01-01"));
        let plain = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        let with_meta = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"x"}}}"#;
        for (message, version, session, expect) in [
            (with_meta, None, None, "newest"),
            (with_meta, old, gone, "newest"),
            (plain, modern, open, "newest"),
            (plain, None, open, "session"),
            (plain, old, open, "session"),
            (plain, unknown, open, "unknown version"),
            (plain, old, gone, "no session"),
            (plain, unknown, gone, "no session"),
            (plain, None, gone, "no session"),
            (plain, old, None, "2025-06-18"),
            (plain, None, None, "2025-03-26"),
            (plain, unknown, None, "newest"),
        ] {
            let seen = claimed(&endpoint, message, version, session);
            assert_eq!(seen, expect, "{message} {version:?} {session:?}");
        }
    }

    #[tokio::test]
    async fn a_handshake_is_one_unless_it_carries_metadata() {
        let (endpoint, _) = subject();
        let handshake = r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#;
        for (version, session) in [
            (None, None),
            (Some("x"), Some("gone")),
            (Some("2026-07-28"), None),
        ] {
            let seen = claimed(&endpoint, handshake, version, session);
            assert_eq!(seen, "handshake", "{version:?} {session:?}");
        }
        let modern = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"x"}}}"#;
        assert_eq!(claimed(&endpoint, modern, None, None), "newest");
    }
}
