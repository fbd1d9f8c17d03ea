use callgate_wire::input::{InputRequest, InputResponse, InputResponses};
use callgate_wire::roots::{ListRootsResult, Root};
use callgate_wire::{RawJson, meta};

use super::input_rounds::{Round, Rounds, input_requests};
use crate::error::Error;
use crate::service::{BoxFuture, Call, Reply, Service};

/// Roots: tells a service of fixed roots, in place of those of its callers.
///
/// The service learns that its client has roots, and a request for them is answered here. A request
/// that asks for anything else too goes to the caller as it is, who may declare roots of its own.
#[derive(Debug)]
pub struct Roots<S> {
    service: S,
    roots: Vec<Root>,
}

/// Maximum number of times that one request is sent again with the roots.
const MAX_ROUNDS: usize = 4;

impl<S: Service> Roots<S> {
    /// Tells `service` of these roots.
    pub fn new(service: S, roots: Vec<Root>) -> Self {
        Self { service, roots }
    }

    /// The answers, if the service asks for roots alone.
    fn answers(&self, required: &RawJson) -> Option<InputResponses> {
        let requests = required.get("inputRequests")?;
        let requests = input_requests(&requests).ok()?;
        let mut answers = InputResponses::new();
        for (key, request) in requests.iter() {
            let InputRequest::ListRoots(_) = request else {
                return None;
            };
            let roots = ListRootsResult::new(self.roots.clone());
            answers.insert(key, InputResponse::from(&roots));
        }
        (!answers.is_empty()).then_some(answers)
    }

    async fn call_with_roots(&self, mut call: Call) -> Result<Reply, Error> {
        let path = ["_meta", meta::CLIENT_CAPABILITIES, "roots"];
        call.set(&path, &RawJson::empty_object()).map_err(|error| {
            Error::invalid_params("`_meta` must be an object").with_source(error)
        })?;
        let mut rounds = Rounds::new(&call.method, call.params(), MAX_ROUNDS);
        loop {
            let reply = self.service.call(call.clone()).await?;
            let answers = match &reply {
                Reply::InputRequired(required) => self.answers(required),
                _ => None,
            };
            let Some(answers) = answers else {
                return Ok(reply);
            };
            match rounds.receive(reply)? {
                Round::Done(reply) => return Ok(reply),
                Round::Ask(_) | Round::Wait(_) => call.set_params(rounds.next_params(&answers)?),
            }
        }
    }
}

impl<S: Service> Service for Roots<S> {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        match call.method.may_ask_input() {
            true => Box::pin(self.call_with_roots(call)),
            false => self.service.call(call),
        }
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        self.service.notify(notification)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cx;
    use crate::mutex::Mutex;
    use callgate_wire::{Id, Method};

    /// Returns the replies in order, and keeps the params of each call.
    #[derive(Default)]
    struct Script {
        replies: Mutex<Vec<&'static str>>,
        params: Mutex<Vec<String>>,
    }

    impl Service for Script {
        fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            self.params.lock().push(call.params().as_str().to_owned());
            let reply: RawJson = serde_json::from_str(self.replies.lock().remove(0)).unwrap();
            let is_question = reply.get("inputRequests").is_some();
            let reply = match is_question {
                true => Reply::InputRequired(reply),
                false => Reply::Complete(reply),
            };
            Box::pin(async { Ok(reply) })
        }
    }

    async fn call(replies: &[&'static str]) -> (Reply, Vec<String>) {
        let script = Script {
            replies: Mutex::new(replies.to_vec()),
            ..Script::default()
        };
        let layer = Roots::new(script, vec![Root::new("file:///srv")]);
        let params = serde_json::from_str(r#"{"name":"a"}"#).unwrap();
        let cx = Cx::new(Id::number(1));
        let reply = layer
            .call(Call::new(Method::new("tools/call"), params, cx))
            .await;
        let params = layer.service.params.lock().clone();
        (reply.unwrap(), params)
    }

    const FIRST: &str =
        r#"{"name":"a","_meta":{"io.modelcontextprotocol/clientCapabilities":{"roots":{}}}"#;

    #[tokio::test]
    async fn a_request_for_roots_is_answered_here() {
        let asks = r#"{"requestState":"s","inputRequests":{"k":{"method":"roots/list"}}}"#;
        let (reply, params) = call(&[asks, "{}"]).await;
        assert_eq!(reply.result().as_str(), "{}");
        let answered = format!(
            r#"{FIRST},"inputResponses":{{"k":{{"roots":[{{"uri":"file:///srv"}}]}}}},"requestState":"s"}}"#
        );
        assert_eq!(params, [format!("{FIRST}}}"), answered]);
    }

    #[tokio::test]
    async fn other_questions_go_to_the_caller() {
        let asks = r#"{"requestState":"s","inputRequests":{"k":{"method":"roots/list"},"q":{"method":"elicitation/create","params":{"mode":"url","url":"https://a.example","message":"m","elicitationId":"1"}}}}"#;
        let (reply, params) = call(&[asks]).await;
        assert!(matches!(reply, Reply::InputRequired(_)), "{reply:?}");
        assert_eq!(params.len(), 1);
    }
}
