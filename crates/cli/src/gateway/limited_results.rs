use std::sync::Arc;

use callgate_mcp::layer::{LargeResultLimits, LargeResults};
use callgate_mcp::wire::{Method, method};
use callgate_mcp::{BoxFuture, Call, Error, Reply, Service};

/// Key of `_meta` by which a client asks for whole results. The commands of this program do, because their output is
/// for a person or a program, not for the context window of a model.
pub(crate) const WHOLE_RESULTS: &str = "callgate/wholeResults";

/// True for a request whose result may have a long text. A task that is completed has the result of its tool.
pub(super) fn is_long(asked: &Method) -> bool {
    matches!(asked.as_str(), method::TOOLS_CALL | method::TASKS_GET)
}

/// A service whose long texts become links that agents read in pages, unless a client wants them whole.
pub(crate) struct LimitedResults {
    whole: Arc<dyn Service>,
    limited: LargeResults<Arc<dyn Service>>,
}

impl LimitedResults {
    /// Limits the text of one result to `text` bytes.
    pub(crate) fn new(service: Arc<dyn Service>, text: usize) -> Self {
        let mut limits = LargeResultLimits::default();
        limits.text = text;
        limits.preview = limits.preview.min(text);
        Self {
            whole: service.clone(),
            limited: LargeResults::new(service, limits),
        }
    }
}

impl Service for LimitedResults {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        let is_whole = is_long(&call.method) && call.cx.peer().meta().get(WHOLE_RESULTS).is_some();
        match is_whole {
            true => self.whole.call(call),
            false => self.limited.call(call),
        }
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        self.whole.notify(notification)
    }
}

#[cfg(test)]
mod tests {
    use callgate_mcp::Cx;
    use callgate_mcp::wire::{Id, RawJson};

    use super::*;

    const LONG: &str = r#"{"taskId":"1","status":"completed","result":{"content":[{"type":"text","text":"a long text"}]}}"#;

    struct Tasks;

    impl Service for Tasks {
        fn call(&self, _call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            let task = serde_json::from_str(LONG).unwrap();
            Box::pin(async { Ok(Reply::Complete(task)) })
        }
    }

    #[tokio::test]
    async fn the_result_of_a_task_is_whole_for_those_who_ask() {
        let limited = LimitedResults::new(Arc::new(Tasks), 4);
        for (params, is_whole) in [
            (r#"{"taskId":"1"}"#.to_owned(), false),
            (
                format!(r#"{{"taskId":"1","_meta":{{"{WHOLE_RESULTS}":true}}}}"#),
                true,
            ),
        ] {
            let params: RawJson = serde_json::from_str(&params).unwrap();
            let cx = Cx::new(Id::number(1));
            let call = Call::new(Method::new(method::TASKS_GET), params, cx);
            let reply = limited.call(call).await.unwrap();
            assert_eq!(reply.result().as_str() == LONG, is_whole);
        }
    }
}
