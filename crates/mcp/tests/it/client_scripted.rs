//! A server that answers by a script and records its calls.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use callgate_mcp::client::{Client, ClientBuilder};
use callgate_mcp::wire::{Method, Notification, RawJson, Splice};
use callgate_mcp::{BoxFuture, Call, Error, Notifier, Reply, Service};
use serde_json::{Value, json};

/// Answers each call with the next step of its script.
pub(crate) struct Scripted {
    steps: Mutex<VecDeque<Step>>,
    seen: Mutex<Vec<Seen>>,
    cancelled: Arc<AtomicUsize>,
}

/// Answer to one call.
pub(crate) type Step =
    Box<dyn FnOnce(Call) -> BoxFuture<'static, Result<Reply, Error>> + Send + Sync>;

/// Recorded call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// Without `_meta`.
    pub(crate) params: Value,
    pub(crate) meta: Value,
}

impl Scripted {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Arc<Self> {
        Arc::new(Self {
            steps: Mutex::new(steps.into_iter().collect()),
            seen: Mutex::default(),
            cancelled: Arc::default(),
        })
    }

    /// Returns the methods and params of the calls so far.
    pub(crate) fn asked(&self) -> Vec<(String, Value)> {
        let seen = self.seen();
        seen.into_iter()
            .map(|seen| (seen.method, seen.params))
            .collect()
    }

    /// Returns the calls so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Returns the number of calls that were dropped before they were answered.
    pub(crate) fn cancelled(&self) -> usize {
        self.cancelled.load(Ordering::SeqCst)
    }

    /// Returns the number of unused steps of the script.
    pub(crate) fn left(&self) -> usize {
        self.steps.lock().unwrap().len()
    }

    pub(crate) fn builder(self: &Arc<Self>) -> ClientBuilder {
        Client::builder(self.clone())
    }

    pub(crate) fn client(self: &Arc<Self>) -> Client {
        self.builder().build()
    }
}

impl Service for Scripted {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        let params = Splice::new(call.params())
            .remove(&["_meta"])
            .finish()
            .unwrap();
        self.seen.lock().unwrap().push(Seen {
            method: call.method.to_string(),
            // JSON with half a surrogate pair cannot be decoded.
            params: params.decode().unwrap_or_default(),
            meta: call.cx.peer().meta().decode().unwrap(),
        });
        let step = self.steps.lock().unwrap().pop_front();
        let step = step.unwrap_or_else(|| panic!("the script ends before `{}`", call.method));
        let answer = step(call);
        let unanswered = CountOnDrop(Some(self.cancelled.clone()));
        Box::pin(async move {
            let outcome = answer.await;
            unanswered.answered();
            outcome
        })
    }
}

struct CountOnDrop(Option<Arc<AtomicUsize>>);

impl CountOnDrop {
    fn answered(mut self) {
        self.0 = None;
    }
}

impl Drop for CountOnDrop {
    fn drop(&mut self) {
        if let Some(count) = &self.0 {
            count.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Answers by running `script`.
pub(crate) fn step<F, R>(script: F) -> Step
where
    F: FnOnce(Call) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Reply, Error>> + Send + 'static,
{
    Box::new(move |call| Box::pin(script(call)))
}

/// Answers with `result` at once.
pub(crate) fn result(result: Value) -> Step {
    step(move |_| async move { reply(&result) })
}

/// Answers with an error at once.
pub(crate) fn error(code: i64, message: &str) -> Step {
    failure(json!({"code": code, "message": message}))
}

/// Answers with this error at once.
pub(crate) fn failure(error: Value) -> Step {
    step(move |_| async move { Err(Error::rpc(&Arc::from("scripted"), raw(&error))) })
}

/// Never answers.
pub(crate) fn silence() -> Step {
    step(|_| std::future::pending())
}

/// Makes a reply of this result, of the kind of its `resultType`.
pub(crate) fn reply(result: &Value) -> Result<Reply, Error> {
    Ok(Reply::of_result(raw(result)))
}

/// Sends a notification about a call.
pub(crate) async fn notify(notifier: &Notifier, method: &str, params: &Value) {
    let method = Method::new(method);
    let params = raw(params);
    notifier.send(Notification { method, params }).await;
}

pub(crate) fn raw(value: &Value) -> RawJson {
    RawJson::encode(value).unwrap()
}
