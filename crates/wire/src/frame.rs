use std::ops::Range;

use bytes::Bytes;

use crate::id::{Id, IdError};
use crate::member_table::{MemberTable, Parent};
use crate::method::Method;
use crate::raw::{Kind, RawJson};
use crate::raw_params::RawParams;
use crate::rpc_error::{RpcError, code};
use crate::scan::{Duplicates, InnerLevel, Limits, Outermost, ScanError, scan};
use crate::text::RawText;

/// One JSON-RPC message.
///
/// Complete: JSON-RPC has no other messages.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "JSON-RPC has no other messages")]
pub enum Frame {
    /// A message that expects a response.
    Request(Request),
    /// A message without a response.
    Notification(Notification),
    /// A response.
    Response(Response),
}

/// A message that expects a response.
///
/// Complete: JSON-RPC has no other members for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "JSON-RPC has no other members for it"
)]
pub struct Request {
    /// Id, which the response will carry too.
    pub id: Id,
    /// Method.
    pub method: Method,
    /// An object; `{}` where the message has none.
    pub params: RawParams,
}

/// A message without a response.
///
/// Complete: JSON-RPC has no other members for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "JSON-RPC has no other members for it"
)]
pub struct Notification {
    /// Method.
    pub method: Method,
    /// An object; `{}` where the message has none.
    pub params: RawJson,
}

/// A response to a request.
///
/// Complete: JSON-RPC has no other members for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "JSON-RPC has no other members for it"
)]
pub struct Response {
    /// The id of the request; absent where the receiver could not read one.
    pub id: Option<Id>,
    /// The result, or the error as it came.
    pub outcome: Result<RawJson, RawJson>,
}

/// Refusal of a message, with the id to answer with where one could be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct FrameError {
    /// The id of the refused request.
    pub id: Option<Id>,
    reason: Reason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum Reason {
    #[error(transparent)]
    Scan(#[from] ScanError),
    #[error("message must be a JSON object; batches are not supported")]
    NotAnObject,
    #[error("member `jsonrpc` must be \"2.0\"")]
    WrongVersion,
    #[error("id must be a string or an integer")]
    BadId,
    #[error("member `method` must be a string")]
    BadMethod,
    #[error("member `params` must be an object")]
    BadParams,
    #[error("a response must have either `result` or `error`, and an `id`")]
    BadResponse,
}

impl Frame {
    /// Finds the message in `bytes` in one scan.
    ///
    /// In everything but `result` and `error`, no object may have the same key twice. Members that
    /// JSON-RPC does not define are checked and then left out: the envelope is ours on every hop.
    ///
    /// # Errors
    /// The reason why the message was refused, with the id to answer.
    pub fn parse(bytes: &Bytes, limits: &Limits) -> Result<Self, FrameError> {
        let mut envelope = Envelope::default();
        // Even a scan that fails may have passed the id, and an error with the id can be told from
        // the errors of other requests.
        let scanned = scan(bytes, limits, Duplicates::Refuse, &mut envelope);
        let id = envelope.id(bytes);
        match scanned.map_err(Reason::from) {
            Ok(()) => envelope.read(bytes, id),
            Err(reason) => Err(reason.with_id(id.unwrap_or_default())),
        }
    }
}

impl FrameError {
    /// The error to answer with.
    #[must_use]
    pub fn to_rpc(&self) -> RpcError {
        let code = match self.reason {
            // A limit or a repeated key is a rule about valid JSON, so it is no parse error.
            Reason::Scan(ScanError::Syntax { .. } | ScanError::Utf8 { .. }) => code::PARSE_ERROR,
            Reason::BadParams => code::INVALID_PARAMS,
            _ => code::INVALID_REQUEST,
        };
        RpcError::new(code, self.reason.to_string())
    }
}

/// Positions of the members of the envelope.
#[derive(Default)]
struct Envelope {
    jsonrpc: Option<Range<usize>>,
    id: Option<Range<usize>>,
    method: Option<Range<usize>>,
    params: ScannedParams,
    result: Option<Range<usize>>,
    error: Option<Range<usize>>,
    next: Slot,
}

/// Positions of the params, of their members and of those of their `_meta`.
#[derive(Default)]
struct ScannedParams {
    span: Option<Range<usize>>,
    members: MemberTable,
    is_in_meta: bool,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Slot {
    JsonRpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    #[default]
    Unknown,
}

impl Envelope {
    /// The id, if there is one other than null.
    fn id(&self, bytes: &Bytes) -> Result<Option<Id>, IdError> {
        match self.id.as_ref().map(|span| raw(bytes, span)) {
            Some(id) if id.kind() != Kind::Null => Id::try_from(id).map(Some),
            _ => Ok(None),
        }
    }

    /// The message, with the `id` that was read from `bytes`.
    fn read(self, bytes: &Bytes, id: Result<Option<Id>, IdError>) -> Result<Frame, FrameError> {
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(Reason::NotAnObject.with_id(None));
        }
        let version = self.jsonrpc.as_ref().and_then(|span| text(bytes, span));
        if !version.is_some_and(|version| version.is("2.0")) {
            return Err(Reason::WrongVersion.with_id(id.unwrap_or_default()));
        }
        let Ok(id) = id else {
            return Err(Reason::BadId.with_id(None));
        };
        let Some(method) = self.method else {
            return self.response(bytes, id);
        };
        // Only in a response may the id be null: the peer could not read the request's.
        if id.is_none() && self.id.is_some() {
            return Err(Reason::BadId.with_id(None));
        }
        let Some(method) = method_name(bytes, &method) else {
            return Err(Reason::BadMethod.with_id(id));
        };
        match (self.params.read(bytes), id) {
            (Some(params), Some(id)) => Ok(Frame::Request(Request { id, method, params })),
            (Some(params), None) => Ok(Frame::Notification(Notification {
                method,
                params: params.into_json(),
            })),
            (None, id) => Err(Reason::BadParams.with_id(id)),
        }
    }

    fn response(&self, bytes: &Bytes, id: Option<Id>) -> Result<Frame, FrameError> {
        // A result without an id answers nothing; an error without one is a complaint about the
        // connection, which is worth reporting.
        let outcome = match (&self.result, &self.error) {
            (Some(result), None) if id.is_some() => Ok(raw(bytes, result)),
            (None, Some(error)) => Err(raw(bytes, error)),
            _ => return Err(Reason::BadResponse.with_id(id)),
        };
        Ok(Frame::Response(Response { id, outcome }))
    }
}

impl Reason {
    fn with_id(self, id: Option<Id>) -> FrameError {
        FrameError { id, reason: self }
    }
}

impl ScannedParams {
    /// The params; `None` if they are not an object.
    fn read(mut self, bytes: &Bytes) -> Option<RawParams> {
        let Some(span) = self.span else {
            return Some(RawParams::empty());
        };
        let params = raw(bytes, &span);
        // The scan counted from the start of the message; readers count from that of the params.
        self.members.shift(0, span.start, 0);
        let is_object = params.kind() == Kind::Object;
        is_object.then(|| RawParams::scanned(params, self.members))
    }

    /// Object at `level` that the scan is in, if its members are remembered.
    fn parent(&self, level: InnerLevel) -> Option<Parent> {
        match level {
            InnerLevel::Second => Some(Parent::Params),
            InnerLevel::Third => self.is_in_meta.then_some(Parent::Meta),
        }
    }
}

impl Outermost for Envelope {
    fn key(&mut self, key: RawText<'_>) -> Duplicates {
        let decoded;
        let key = match key.escaped {
            true => {
                decoded = key.decode().unwrap_or_default();
                decoded.as_bytes()
            }
            false => key.bytes,
        };
        self.next = match key {
            b"jsonrpc" => Slot::JsonRpc,
            b"id" => Slot::Id,
            b"method" => Slot::Method,
            b"params" => Slot::Params,
            b"result" => Slot::Result,
            b"error" => Slot::Error,
            _ => Slot::Unknown,
        };
        match self.next {
            // Policies decide by requests, so two readers must not see two of them. Results are
            // passed on as they came, so that a server's mistake stays between it and its client.
            Slot::Result | Slot::Error => Duplicates::Allow,
            _ => Duplicates::Refuse,
        }
    }

    fn value(&mut self, span: Range<usize>) {
        let slot = match self.next {
            Slot::JsonRpc => &mut self.jsonrpc,
            Slot::Id => &mut self.id,
            Slot::Method => &mut self.method,
            Slot::Params => &mut self.params.span,
            Slot::Result => &mut self.result,
            Slot::Error => &mut self.error,
            Slot::Unknown => return,
        };
        *slot = Some(span);
    }

    fn inner_key(&mut self, level: InnerLevel, key: RawText<'_>, at: usize) {
        if self.next != Slot::Params {
            return;
        }
        if level == InnerLevel::Second {
            self.params.is_in_meta = key.is("_meta");
        }
        if let Some(parent) = self.params.parent(level) {
            self.params.members.push_key(parent, key, at);
        }
    }

    fn inner_value(&mut self, level: InnerLevel, span: Range<usize>) {
        if self.next != Slot::Params {
            return;
        }
        if let Some(parent) = self.params.parent(level) {
            self.params.members.set_value(parent, span);
        }
    }
}

/// The value the scan saw at `span`.
fn raw(bytes: &Bytes, span: &Range<usize>) -> RawJson {
    RawJson::trusted(bytes.slice(span.clone()))
}

/// The string that the scan saw at `span`; `None` if it is another value.
fn text<'a>(bytes: &'a Bytes, span: &Range<usize>) -> Option<RawText<'a>> {
    let value = bytes.get(span.clone())?;
    let bytes = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let escaped = bytes.contains(&b'\\');
    Some(RawText { bytes, escaped })
}

fn method_name(bytes: &Bytes, span: &Range<usize>) -> Option<Method> {
    let name = text(bytes, span)?.decode().ok()?;
    Some(Method::new(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Frame, FrameError> {
        Frame::parse(&Bytes::copy_from_slice(text.as_bytes()), &Limits::default())
    }

    fn json(text: &'static str) -> RawJson {
        RawJson::trusted(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn messages_are_told_apart_by_their_members() {
        assert_eq!(
            parse(
                r#" {"params":{"n":1e2},"id":"\u0061","jsonrpc":"2.0","method":"tools\/call","x":1} "#
            ),
            Ok(Frame::Request(Request {
                id: Id::try_from(json(r#""\u0061""#)).unwrap(),
                method: Method::new("tools/call"),
                params: json(r#"{"n":1e2}"#).into(),
            }))
        );
        assert_eq!(
            parse(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#),
            Ok(Frame::Notification(Notification {
                method: Method::new("notifications/x"),
                params: json("{}"),
            }))
        );
        assert_eq!(
            parse(r#"{"jsonrpc":"2.0","id":-3,"result":{"a":1,"a":2}}"#),
            Ok(Frame::Response(Response {
                id: Some(Id::try_from(json("-3")).unwrap()),
                outcome: Ok(json(r#"{"a":1,"a":2}"#)),
            }))
        );
        assert_eq!(
            parse(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}"#),
            Ok(Frame::Response(Response {
                id: None,
                outcome: Err(json(r#"{"code":-1,"message":"m"}"#)),
            }))
        );
    }

    #[test]
    fn bad_messages_are_refused_with_the_right_code_and_the_id() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":5,"method":"m","params":{{"a":{}1{}}}}}"#,
            "[".repeat(200),
            "]".repeat(200)
        );
        for (text, code, id) in [
            ("{", -32700, None),
            ("nonsense", -32700, None),
            (
                r#"{"jsonrpc":"2.0","id":5,"method":"m","params":{"a":1,}}"#,
                -32700,
                Some("5"),
            ),
            ("[]", -32600, None),
            ("3", -32600, None),
            (r#"{"id":5,"method":"m"}"#, -32600, Some("5")),
            (
                r#"{"jsonrpc":"1.0","id":5,"method":"m"}"#,
                -32600,
                Some("5"),
            ),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":{},"result":{}}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":5,"method":7}"#, -32600, Some("5")),
            (
                r#"{"jsonrpc":"2.0","id":5,"method":"\ud800"}"#,
                -32600,
                Some("5"),
            ),
            (
                r#"{"jsonrpc":"2.0","id":5,"method":"m","params":[1]}"#,
                -32602,
                Some("5"),
            ),
            (
                r#"{"jsonrpc":"2.0","id":5,"method":"m","params":null}"#,
                -32602,
                Some("5"),
            ),
            (
                r#"{"jsonrpc":"2.0","id":5,"method":"m","params":{"a":{"b":1,"b":1}}}"#,
                -32600,
                Some("5"),
            ),
            (
                r#"{"jsonrpc":"2.0","id":5,"method":"m","method":"n"}"#,
                -32600,
                Some("5"),
            ),
            (
                r#"{"jsonrpc":"2.0","id":5,"method":"m","x":{"b":1,"b":1}}"#,
                -32600,
                Some("5"),
            ),
            (r#"{"jsonrpc":"2.0","id":5}"#, -32600, Some("5")),
            (r#"{"jsonrpc":"2.0","result":{}}"#, -32600, None),
            (
                r#"{"jsonrpc":"2.0","id":5,"result":{},"error":{}}"#,
                -32600,
                Some("5"),
            ),
            (&deep, -32600, Some("5")),
        ] {
            let error = parse(text).expect_err(text);
            let seen = error.id.as_ref().map(ToString::to_string);
            assert_eq!((error.to_rpc().code, seen.as_deref()), (code, id), "{text}");
        }
    }

    #[test]
    fn a_message_over_the_size_limit_is_refused() {
        let limits = Limits {
            bytes: 40,
            ..Limits::default()
        };
        let text = Bytes::from_static(br#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#);
        let error = Frame::parse(&text, &limits).unwrap_err();
        assert_eq!(error.to_rpc().message, "message is longer than 40 bytes");
        assert_eq!(error.to_rpc().code, code::INVALID_REQUEST);
    }
}
