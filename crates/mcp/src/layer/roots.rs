use callgate_wire::input::{InputRequest, InputResponse, InputResponses};
use callgate_wire::roots::{ListRootsResult, Root};
use callgate_wire::{RawJson, Splice, meta};
use serde::{Deserialize, Serialize};

use super::input_rounds::{Round, Rounds, input_requests};
use crate::error::{Error, Kind};
use crate::service::{BoxFuture, Call, Reply, Service};

/// Roots: tells a service of fixed roots, in place of those of its callers.
///
/// The service learns that its client has roots, and a request for them is answered here. If the
/// service asks for something else at the same time, the caller is asked for that alone, and the roots are
/// added to its answers. The keys of the requests for roots travel in the state that the caller sends back;
/// a caller that changes them changes only where the service finds the roots.
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

    async fn call_with_roots(&self, mut call: Call) -> Result<Reply, Error> {
        let path = ["_meta", meta::CLIENT_CAPABILITIES, "roots"];
        call.set(&path, &RawJson::empty_object()).map_err(|error| {
            Error::invalid_params("`_meta` must be an object").with_source(error)
        })?;
        if let Some(params) = self.with_roots(call.params())? {
            call.set_params(params);
        }
        // Made only now: every round starts from these params, which must have the state of the service.
        let mut rounds = Rounds::new(&call.method, call.params(), MAX_ROUNDS);
        loop {
            let reply = self.service.call(call.clone()).await?;
            let Reply::InputRequired(required) = &reply else {
                return Ok(reply);
            };
            let Some(question) = Question::of(required) else {
                return Ok(reply);
            };
            if question.asks_more {
                return question.for_caller(required);
            }
            let answers = self.answers(&question.roots);
            match rounds.receive(reply)? {
                Round::Done(reply) => return Ok(reply),
                Round::Ask(_) | Round::Wait(_) => call.set_params(rounds.next_params(&answers)?),
            }
        }
    }

    fn answers(&self, keys: &[String]) -> InputResponses {
        let roots = ListRootsResult::new(self.roots.clone());
        let mut answers = InputResponses::new();
        for key in keys {
            answers.insert(key, InputResponse::from(&roots));
        }
        answers
    }

    /// The params of a caller that answers the rest of a question, with the roots among the answers and the
    /// service's own state; `None` for other params.
    fn with_roots(&self, params: &RawJson) -> Result<Option<RawJson>, Error> {
        let state = params.get("requestState");
        let state = state.as_ref().and_then(RawJson::text);
        let Some(kept) = state.as_deref().and_then(|state| state.strip_prefix(STATE)) else {
            return Ok(None);
        };
        let unreadable = || Error::invalid_params("`requestState` is not one that was sent");
        let kept: RootsState = serde_json::from_str(kept).map_err(|_| unreadable())?;
        if kept.roots.len() > MAX_REQUESTS {
            return Err(unreadable());
        }
        let answers = self.answers(&kept.roots);
        let answers: Vec<([&str; 2], RawJson)> = kept
            .roots
            .iter()
            .filter_map(|key| {
                let answer = RawJson::encode(answers.get(key)?).ok()?;
                Some((["inputResponses", key.as_str()], answer))
            })
            .collect();
        let mut splice = Splice::new(params);
        for (path, answer) in &answers {
            splice = splice.set(path, answer);
        }
        splice = match &kept.state {
            Some(state) => splice.set(&["requestState"], state),
            None => splice.remove(&["requestState"]),
        };
        splice.finish().map(Some).map_err(|_| unreadable())
    }
}

/// Maximum number of requests for roots in a question. A caller could name any number of keys in its state, and
/// each gets all roots.
const MAX_REQUESTS: usize = 16;

/// Beginning of the states that this layer sends to callers.
const STATE: &str = "callgate-roots:";

/// State of a question of which the caller sees a part.
#[derive(Serialize, Deserialize)]
struct RootsState {
    /// Keys of the requests for roots.
    roots: Vec<String>,
    /// State of the service.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<RawJson>,
}

/// Requests of a service for input, with one for roots among them.
struct Question {
    /// Keys of the requests for roots.
    roots: Vec<String>,
    /// True if there are other requests.
    asks_more: bool,
}

impl Question {
    /// The question of a result; `None` if it does not ask for roots, or more often than [`MAX_REQUESTS`].
    fn of(required: &RawJson) -> Option<Self> {
        let requests = input_requests(&required.get("inputRequests")?).ok()?;
        let mut question = Self {
            roots: Vec::new(),
            asks_more: false,
        };
        for (key, request) in requests.iter() {
            match request {
                InputRequest::ListRoots(_) => question.roots.push(key.to_owned()),
                _ => question.asks_more = true,
            }
        }
        (1..=MAX_REQUESTS)
            .contains(&question.roots.len())
            .then_some(question)
    }

    /// The question without the requests for roots, which its state remembers.
    fn for_caller(self, required: &RawJson) -> Result<Reply, Error> {
        let state = RootsState {
            state: required.get("requestState"),
            roots: self.roots,
        };
        let text = serde_json::to_string(&state).expect("texts are JSON");
        let text = RawJson::string(&format!("{STATE}{text}"));
        let roots: Vec<[&str; 2]> = state
            .roots
            .iter()
            .map(|key| ["inputRequests", key.as_str()])
            .collect();
        let mut splice = Splice::new(required).set(&["requestState"], &text);
        for path in &roots {
            splice = splice.remove(path);
        }
        let question = splice.finish().map_err(|error| {
            Error::new(Kind::Protocol, "malformed input requests").with_source(error)
        })?;
        Ok(Reply::InputRequired(question))
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

    fn layer(replies: &[&'static str]) -> Roots<Script> {
        let script = Script {
            replies: Mutex::new(replies.to_vec()),
            ..Script::default()
        };
        Roots::new(script, vec![Root::new("file:///srv")])
    }

    async fn send(layer: &Roots<Script>, params: &str) -> Result<Reply, Error> {
        let params = serde_json::from_str(params).unwrap();
        let cx = Cx::new(Id::number(1));
        let call = Call::new(Method::new("tools/call"), params, cx);
        layer.call(call).await
    }

    async fn call(replies: &[&'static str]) -> (Reply, Vec<String>) {
        let layer = layer(replies);
        let reply = send(&layer, r#"{"name":"a"}"#).await;
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

    const ELICITATION: &str = r#"{"method":"elicitation/create","params":{"mode":"url","url":"https://a.example","message":"m","elicitationId":"1"}}"#;

    #[tokio::test]
    async fn other_questions_go_to_the_caller() {
        let asks = Box::leak(format!(r#"{{"inputRequests":{{"q":{ELICITATION}}}}}"#).into());
        let (reply, params) = call(&[asks]).await;
        assert_eq!(reply.result().as_str(), asks);
        assert_eq!(params.len(), 1);
    }

    #[tokio::test]
    async fn of_a_question_for_roots_and_more_the_caller_gets_the_rest() {
        for state in [r#""requestState":"s","#, ""] {
            let asks = format!(
                r#"{{{state}"inputRequests":{{"k":{{"method":"roots/list"}},"q":{ELICITATION}}}}}"#
            );
            let asks: &'static str = Box::leak(asks.into());
            let layer = layer(&[asks, "{}"]);
            let reply = send(&layer, r#"{"name":"a"}"#).await.unwrap();
            assert!(matches!(reply, Reply::InputRequired(_)), "{reply:?}");
            let question = reply.result().clone();
            assert_eq!(
                question.get("inputRequests").unwrap().as_str(),
                format!(r#"{{"q":{ELICITATION}}}"#)
            );
            // The caller answers the rest and sends the state back.
            let kept = question.get("requestState").unwrap();
            let answer = format!(
                r#"{{"name":"a","inputResponses":{{"q":{{"action":"accept"}}}},"requestState":{}}}"#,
                kept.as_str()
            );
            let reply = send(&layer, &answer).await.unwrap();
            assert_eq!(reply.result().as_str(), "{}");
            let params: RawJson = serde_json::from_str(&layer.service.params.lock()[1]).unwrap();
            assert_eq!(
                params.get("inputResponses").unwrap().as_str(),
                r#"{"q":{"action":"accept"},"k":{"roots":[{"uri":"file:///srv"}]}}"#
            );
            let state = params
                .get("requestState")
                .map(|state| state.as_str().to_owned());
            assert_eq!(
                state,
                asks.contains("requestState").then(|| "\"s\"".to_owned())
            );
        }
    }

    #[tokio::test]
    async fn a_state_of_this_layer_that_cannot_be_read_is_refused() {
        let too_many = vec!["k".to_owned(); MAX_REQUESTS + 1];
        let too_many = serde_json::to_string(&RootsState {
            roots: too_many,
            state: None,
        });
        for state in ["x", &too_many.unwrap()] {
            let state = RawJson::string(&format!("{STATE}{state}"));
            let params = format!(r#"{{"name":"a","requestState":{}}}"#, state.as_str());
            let error = send(&layer(&[]), &params).await;
            assert_eq!(
                error.unwrap_err().to_string(),
                "`requestState` is not one that was sent"
            );
        }
    }

    #[tokio::test]
    async fn a_question_with_too_many_requests_for_roots_is_left_to_the_caller() {
        let request = |number| format!(r#""{number}":{{"method":"roots/list"}}"#);
        let requests: Vec<String> = (0..=MAX_REQUESTS).map(request).collect();
        let asks = format!(r#"{{"inputRequests":{{{}}}}}"#, requests.join(","));
        let asks: &'static str = Box::leak(asks.into());
        let (reply, _) = call(&[asks]).await;
        assert_eq!(reply.result().as_str(), asks);
    }
}
