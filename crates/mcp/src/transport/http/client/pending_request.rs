use std::sync::Arc;

use callgate_wire::{Frame, Id, Notification, RawJson, Response, Splice, meta, method};

use crate::error::{Error, Kind};
use crate::service::{Call, Reply};

/// One request on this connection, and the translation of its answers for the caller.
///
/// Progress reaches the caller under the token that it gave, or else under the id of its call.
pub(super) struct PendingRequest<'a> {
    pub(super) id: Id,
    server: &'a Arc<str>,
    pub(super) call: &'a Call,
    /// The progress token of the caller, if it gave one.
    token: Option<RawJson>,
}

/// Consequence of a message.
#[derive(Debug)]
pub(super) enum MessageAction {
    /// The message is ignored.
    Ignore,
    /// The message is ignored; the server must not send it.
    Violation,
    /// The caller gets this notification.
    Notify(Notification),
    /// The call has ended.
    Done(Result<Reply, Error>),
}

impl<'a> PendingRequest<'a> {
    /// The request `number` to `server` on behalf of `call`.
    pub(super) fn new(number: u64, server: &'a Arc<str>, call: &'a Call) -> Self {
        Self {
            id: Id::number(number),
            server,
            call,
            token: call.cx.peer().raw_progress_token().cloned(),
        }
    }

    /// Params to send: those of the caller, with a progress token unless it is a subscription.
    pub(super) fn params(&self) -> Result<RawJson, Error> {
        // The specification allows no progress on the stream of a subscription, so a token would be useless
        // there.
        if self.token.is_some() || self.is_subscription() {
            return Ok(RawJson::clone(self.call.params()));
        }
        let params = self.call.params();
        params
            .with_meta_member(meta::PROGRESS_TOKEN, self.id.as_raw())
            .map_err(|error| Error::invalid_params(error.to_string()))
    }

    /// Decides the consequence of a message of the server.
    pub(super) fn receive(&self, frame: Frame) -> MessageAction {
        match frame {
            Frame::Request(_) => MessageAction::Violation,
            Frame::Notification(notification) => self.notification(notification),
            Frame::Response(response) => MessageAction::Done(self.response(response)),
        }
    }

    /// Outcome of a response.
    pub(super) fn response(&self, response: Response) -> Result<Reply, Error> {
        match response {
            Response {
                id: Some(id),
                outcome,
            } if id == self.id => match outcome {
                Ok(result) if result.is_object() => Ok(self.reply(result)),
                Ok(_) => Err(self.violated("answered with a result that is no object")),
                Err(error) => Err(Error::rpc(self.server, error)),
            },
            // A server that could not read the request cannot know its id.
            Response {
                id: None,
                outcome: Err(error),
            } => Err(Error::rpc(self.server, error)),
            Response { id, .. } => {
                let id = id.map_or_else(|| "no id".to_owned(), |id| format!("id {id}"));
                Err(self.violated(&format!("answered with {id} instead of {}", self.id)))
            }
        }
    }

    /// The error of a server that violated the protocol; `did` says how.
    pub(super) fn violated(&self, did: &str) -> Error {
        self.failed(Kind::Protocol, did)
    }

    /// An error that says what the server `did`.
    pub(super) fn failed(&self, kind: Kind, did: &str) -> Error {
        let server = self.server;
        Error::new(kind, format!("server `{server}` {did}")).from_upstream(server)
    }

    fn notification(&self, notification: Notification) -> MessageAction {
        let params = &notification.params;
        let edited = match notification.method.as_str() {
            method::NOTIFICATIONS_PROGRESS => {
                let id = self.call.cx.id.as_raw();
                let token = self.token.as_ref().unwrap_or(id);
                replaced(params, &[meta::PROGRESS_TOKEN], token)
            }
            // A server may end a subscription this way, and no other request.
            method::NOTIFICATIONS_CANCELLED if self.is_subscription() => {
                return MessageAction::Done(Ok(Reply::subscription_end(&self.call.cx.id)));
            }
            method::NOTIFICATIONS_CANCELLED => return MessageAction::Ignore,
            _ => self.named_after_caller(params),
        };
        MessageAction::Notify(match edited {
            Some(params) => Notification {
                params,
                ..notification
            },
            None => notification,
        })
    }

    fn reply(&self, result: RawJson) -> Reply {
        Reply::of_result(self.named_after_caller(&result).unwrap_or(result))
    }

    /// A message of a subscription, with the id by which the caller knows the subscription.
    fn named_after_caller(&self, value: &RawJson) -> Option<RawJson> {
        if !self.is_subscription() {
            return None;
        }
        replaced(
            value,
            &["_meta", meta::SUBSCRIPTION_ID],
            self.call.cx.id.as_raw(),
        )
    }

    fn is_subscription(&self) -> bool {
        self.call.method.is_subscription()
    }
}

/// The object with another value at `path`; `None` if there is no change.
fn replaced(object: &RawJson, path: &[&str], value: &RawJson) -> Option<RawJson> {
    let old = object.at(path)?;
    if old == *value {
        return None;
    }
    Splice::new(object).set(path, value).finish().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cx;
    use callgate_wire::{Limits, Method};

    fn raw(text: &str) -> RawJson {
        RawJson::parse(text.to_owned().into(), &Limits::default()).unwrap()
    }

    fn call(method: &str, params: &str) -> Call {
        let cx = Cx::new(Id::text("caller-1"));
        Call::new(Method::new(method), raw(params), cx)
    }

    /// The caller's view of `message` after a call of `method` with `params`.
    fn seen(method: &str, params: &str, message: &str) -> String {
        let call = call(method, params);
        let server = Arc::from("upstream");
        let frame = Frame::parse(&message.to_owned().into(), &Limits::default()).unwrap();
        match PendingRequest::new(7, &server, &call).receive(frame) {
            MessageAction::Ignore => "ignored".to_owned(),
            MessageAction::Violation => "violation".to_owned(),
            MessageAction::Notify(notification) => notification.params.as_str().to_owned(),
            MessageAction::Done(Ok(Reply::Complete(result))) => format!("complete {result:?}"),
            MessageAction::Done(Ok(Reply::InputRequired(result))) => format!("input {result:?}"),
            MessageAction::Done(Ok(reply)) => format!("{reply:?}"),
            MessageAction::Done(Err(error)) => format!("{:?} {error}", error.kind()),
        }
    }

    #[test]
    fn every_request_but_a_subscription_carries_a_progress_token() {
        let server = Arc::from("upstream");
        let listen = call("subscriptions/listen", r#"{"a":1e2}"#);
        let request = PendingRequest::new(7, &server, &listen);
        assert_eq!(request.params().unwrap().as_str(), r#"{"a":1e2}"#);
        for (params, sent) in [
            (r#"{"a":1e2}"#, r#"{"a":1e2,"_meta":{"progressToken":7}}"#),
            (
                r#"{"_meta":{"k":0}}"#,
                r#"{"_meta":{"k":0,"progressToken":7}}"#,
            ),
            (
                r#"{"_meta":{"progressToken":"mine"}}"#,
                r#"{"_meta":{"progressToken":"mine"}}"#,
            ),
        ] {
            let call = call("tools/call", params);
            let request = PendingRequest::new(7, &server, &call);
            assert_eq!(request.params().unwrap().as_str(), sent);
        }
    }

    #[test]
    fn progress_reaches_the_caller_under_a_name_it_knows() {
        let progress = |token: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":0.50}}}}"#
            )
        };
        let asked = r#"{"_meta":{"progressToken":"mine"}}"#;
        let expect = r#"{"progressToken":"mine","progress":0.50}"#;
        assert_eq!(seen("tools/call", asked, &progress(r#""mine""#)), expect);
        assert_eq!(seen("tools/call", asked, &progress("3")), expect);
        assert_eq!(
            seen("tools/call", "{}", &progress("7")),
            r#"{"progressToken":"caller-1","progress":0.50}"#
        );
    }

    #[test]
    fn a_subscription_is_named_after_the_request_of_the_caller() {
        let tagged = r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"x":1}"#;
        let named = r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":"caller-1"},"x":1}"#;
        let change = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{tagged}}}"#
        );
        let end = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{tagged}}}"#);
        assert_eq!(seen("subscriptions/listen", "{}", &change), named);
        assert_eq!(
            seen("subscriptions/listen", "{}", &end),
            format!("complete {named}")
        );
        assert_eq!(seen("tools/call", "{}", &end), format!("complete {tagged}"));
        let cancelled =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
        assert_eq!(
            seen("subscriptions/listen", "{}", cancelled),
            r#"complete {"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"caller-1"}}"#
        );
    }

    #[test]
    fn other_messages_are_read_as_usual() {
        for (message, expect) in [
            (
                r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1e2}}"#,
                r#"{"data":1e2}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#,
                "ignored",
            ),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "violation"),
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"input_required","z":1}}"#,
                r#"input {"resultType":"input_required","z":1}"#,
            ),
            (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, "complete {}"),
            (
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}"#,
                "Rpc no",
            ),
            (
                r#"{"jsonrpc":"2.0","error":{"code":1,"message":"no"}}"#,
                "Rpc no",
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"result":[]}"#,
                "Protocol server `upstream` answered with a result that is no object",
            ),
            (
                r#"{"jsonrpc":"2.0","id":"7","result":{}}"#,
                r#"Protocol server `upstream` answered with id "7" instead of 7"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":"no"}}"#,
                "Protocol server `upstream` answered with id 8 instead of 7",
            ),
        ] {
            assert_eq!(seen("tools/call", "{}", message), expect, "{message}");
        }
    }
}
