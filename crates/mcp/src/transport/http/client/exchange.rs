use std::sync::Arc;

use callgate_wire::{Frame, Id, Notification, RawJson, Response, Splice, meta, method};

use crate::error::{Error, Kind};
use crate::service::{Call, Reply};

/// One request on this hop, and what the messages that answer it mean to its caller.
///
/// Progress reaches the caller under its own token, or under the id of its call where it gave none.
pub(super) struct Exchange<'a> {
    id: Id,
    server: &'a Arc<str>,
    call: &'a Call,
    /// The progress token of the caller, if it gave one.
    token: Option<RawJson>,
}

/// What a message asks for.
#[derive(Debug)]
pub(super) enum Step {
    /// Nothing.
    Ignore,
    /// Nothing, and the server should not have sent it.
    Violation,
    /// The caller should hear of it.
    Notify(Notification),
    /// The call is over.
    Done(Result<Reply, Error>),
}

impl<'a> Exchange<'a> {
    /// The request `number` to `server` on behalf of `call`.
    pub(super) fn new(number: u64, server: &'a Arc<str>, call: &'a Call) -> Self {
        Self {
            id: Id::number(number),
            server,
            call,
            token: call.params.at(&["_meta", meta::PROGRESS_TOKEN]),
        }
    }

    /// The id of the request on this hop.
    pub(super) fn id(&self) -> &Id {
        &self.id
    }

    pub(super) fn call(&self) -> &'a Call {
        self.call
    }

    /// The params to send: those of the caller, with a progress token wherever there is progress.
    pub(super) fn params(&self) -> Result<RawJson, Error> {
        if self.token.is_some() || self.listens() {
            return Ok(self.call.params.clone());
        }
        Splice::new(&self.call.params)
            .set(&["_meta", meta::PROGRESS_TOKEN], self.id.as_raw())
            .finish()
            .map_err(|error| Error::invalid_params(error.to_string()))
    }

    /// Decides what to do about a message of the server.
    pub(super) fn receive(&self, frame: Frame) -> Step {
        match frame {
            Frame::Request(_) => Step::Violation,
            Frame::Notification(notification) => self.notification(notification),
            Frame::Response(response) => Step::Done(self.response(response)),
        }
    }

    /// The outcome that a response stands for.
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
            // A server that could not read the request cannot name it either.
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

    /// The error of a server that broke the protocol by what it did.
    pub(super) fn violated(&self, did: &str) -> Error {
        self.failed(Kind::Protocol, did)
    }

    /// The error of a server that did something.
    pub(super) fn failed(&self, kind: Kind, did: &str) -> Error {
        let server = self.server;
        Error::new(kind, format!("server `{server}` {did}")).from_upstream(server)
    }

    fn notification(&self, notification: Notification) -> Step {
        let params = &notification.params;
        let edited = match notification.method.as_str() {
            method::NOTIFICATIONS_PROGRESS => {
                let id = self.call.cx.id.as_raw();
                let token = self.token.as_ref().unwrap_or(id);
                replaced(params, &[meta::PROGRESS_TOKEN], token)
            }
            // A server may end a subscription this way; it cannot cancel anything else.
            method::NOTIFICATIONS_CANCELLED if self.listens() => {
                return Step::Done(Ok(Reply::subscription_end(&self.call.cx.id)));
            }
            method::NOTIFICATIONS_CANCELLED => return Step::Ignore,
            _ => self.named_after_caller(params),
        };
        Step::Notify(match edited {
            Some(params) => Notification {
                params,
                ..notification
            },
            None => notification,
        })
    }

    fn reply(&self, result: RawJson) -> Reply {
        let result = self.named_after_caller(&result).unwrap_or(result);
        let kind = result.get("resultType");
        match kind.as_ref().and_then(RawJson::text).as_deref() {
            Some("input_required") => Reply::InputRequired(result),
            _ => Reply::Complete(result),
        }
    }

    /// A message of a subscription under the id that the caller knows the subscription by.
    fn named_after_caller(&self, value: &RawJson) -> Option<RawJson> {
        if !self.listens() {
            return None;
        }
        replaced(
            value,
            &["_meta", meta::SUBSCRIPTION_ID],
            self.call.cx.id.as_raw(),
        )
    }

    fn listens(&self) -> bool {
        self.call.method.as_str() == method::SUBSCRIPTIONS_LISTEN
    }
}

/// The same object with another value at `path`; `None` where there is nothing to change.
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
    use crate::{Caller, Cx, Notifier, PeerInfo};
    use callgate_wire::{Limits, Method, Version};

    fn raw(text: &str) -> RawJson {
        RawJson::parse(text.to_owned().into(), &Limits::default()).unwrap()
    }

    fn call(method: &str, params: &str) -> Call {
        let peer = PeerInfo::new(Version::LATEST, RawJson::empty_object());
        Call {
            method: Method::new(method),
            params: raw(params),
            cx: Cx {
                id: Id::text("caller-1"),
                caller: Caller::Local,
                peer: Arc::new(peer),
                notify: Notifier::disabled(),
                deadline: None,
            },
        }
    }

    /// What the caller gets to see of `message` when it called `method` with `params`.
    fn seen(method: &str, params: &str, message: &str) -> String {
        let call = call(method, params);
        let server = Arc::from("upstream");
        let frame = Frame::parse(&message.to_owned().into(), &Limits::default()).unwrap();
        match Exchange::new(7, &server, &call).receive(frame) {
            Step::Ignore => "ignored".to_owned(),
            Step::Violation => "violation".to_owned(),
            Step::Notify(notification) => notification.params.as_str().to_owned(),
            Step::Done(Ok(Reply::Complete(result))) => format!("complete {result:?}"),
            Step::Done(Ok(Reply::InputRequired(result))) => format!("input {result:?}"),
            Step::Done(Err(error)) => format!("{:?} {error}", error.kind()),
        }
    }

    #[test]
    fn every_request_but_a_subscription_carries_a_progress_token() {
        let server = Arc::from("upstream");
        let listen = call("subscriptions/listen", r#"{"a":1e2}"#);
        let exchange = Exchange::new(7, &server, &listen);
        assert_eq!(exchange.params().unwrap().as_str(), r#"{"a":1e2}"#);
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
            let exchange = Exchange::new(7, &server, &call);
            assert_eq!(exchange.params().unwrap().as_str(), sent);
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
    fn other_messages_mean_what_they_say() {
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
