//! Requests to a service, and their answers as plain JSON.

use callgate_mcp::wire::{Id, Limits, Method, Notification, RawJson};
use callgate_mcp::{Call, Caller, Cx, Error, Notifications, Notifier, Reply, Service};
use serde_json::{Value, json};

/// One request to a service.
#[derive(Clone)]
pub(super) struct Ask {
    method: &'static str,
    params: Value,
    meta: Value,
    pub(super) caller: Caller,
}

impl Ask {
    pub(super) fn new(method: &'static str, params: Value) -> Self {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}
        });
        Self {
            method,
            params,
            meta,
            caller: Caller::Local,
        }
    }

    /// A call of a tool.
    pub(super) fn tool(name: &str, arguments: Value) -> Self {
        let mut params = json!({"name": name});
        params["arguments"] = arguments;
        Self::new("tools/call", params)
    }

    pub(super) fn capabilities(self, capabilities: Value) -> Self {
        self.meta("io.modelcontextprotocol/clientCapabilities", capabilities)
    }

    pub(super) fn meta(mut self, key: &str, value: Value) -> Self {
        self.meta[key] = value;
        self
    }

    pub(super) fn caller(mut self, name: &str) -> Self {
        self.caller = Caller::named(name);
        self
    }

    /// The same request of a client that declares the tasks extension.
    pub(super) fn with_tasks(self) -> Self {
        let tasks = json!({"io.modelcontextprotocol/tasks": {}});
        self.capabilities(json!({"elicitation": {}, "roots": {}, "extensions": tasks}))
    }

    /// The same request with the answers to `asked`, the result of the round before.
    pub(super) fn answering(mut self, asked: &Value, responses: Value) -> Self {
        self.params["inputResponses"] = responses;
        match asked.get("requestState") {
            Some(state) => self.params["requestState"] = state.clone(),
            None => drop(self.params.as_object_mut().unwrap().remove("requestState")),
        }
        self
    }

    /// Call of the request, and the receiver of its notifications.
    pub(super) fn into_call(mut self, id: &Id) -> (Call, Notifications) {
        let (notify, notifications) = Notifier::channel(64);
        self.params["_meta"] = self.meta.clone();
        let cx = Cx::new(id.clone())
            .with_caller(self.caller)
            .with_notifier(notify);
        let call = Call::new(Method::new(self.method), raw(&self.params), cx);
        (call, notifications)
    }

    /// The result, or the error as `{code, message, data}`.
    pub(super) async fn of(self, service: &impl Service) -> Result<Value, Value> {
        self.with_notifications(service).await.0
    }

    /// The result with the notifications that came before it.
    pub(super) async fn with_notifications(
        self,
        service: &impl Service,
    ) -> (Result<Value, Value>, Vec<Value>) {
        let (call, mut notifications) = self.into_call(&Id::number(1));
        let outcome = service.call(call).await;
        let seen = std::iter::from_fn(|| notifications.try_next());
        let seen = seen.map(|notification| shown(&notification)).collect();
        (show(outcome), seen)
    }
}

/// An answer as plain JSON.
pub(super) fn show(outcome: Result<Reply, Error>) -> Result<Value, Value> {
    match outcome {
        Ok(reply) => {
            let result = reply.result().clone();
            assert_eq!(reply, Reply::of_result(result.clone()));
            Ok(result.decode().unwrap())
        }
        Err(error) => {
            let mut shown = json!({"code": error.code(), "message": error.to_string()});
            if let Some(data) = error.data() {
                shown["data"] = data.decode().unwrap();
            }
            Err(shown)
        }
    }
}

/// A notification as plain JSON.
pub(super) fn shown(notification: &Notification) -> Value {
    let params: Value = notification.params.decode().unwrap();
    json!({"method": notification.method.as_str(), "params": params})
}

/// The `_meta` of every result of the server `demo`.
pub(super) fn demo_meta() -> Value {
    json!({"io.modelcontextprotocol/serverInfo": {"name": "demo", "version": "1.0"}})
}

/// The result of a tool that says `text`.
pub(super) fn text_result(text: &str) -> Value {
    json!({
        "resultType": "complete",
        "content": [{"type": "text", "text": text}],
        "_meta": demo_meta()
    })
}

/// The result of a tool that failed.
pub(super) fn failed_result(text: &str) -> Value {
    let mut result = text_result(text);
    result["isError"] = true.into();
    result
}

pub(super) fn raw(value: &Value) -> RawJson {
    RawJson::parse(value.to_string().into(), &Limits::default()).unwrap()
}
