use std::sync::Arc;

use callgate_mcp::layer::{LargeResultLimits, LargeResults};
use callgate_mcp::wire::method;
use callgate_mcp::{BoxFuture, Call, Error, Reply, Service};

/// Key of `_meta` by which a client asks for whole results. The commands of this program do, because their output is
/// for a person or a program, not for the context window of a model.
pub(crate) const WHOLE_RESULTS: &str = "callgate/wholeResults";

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
        let is_whole = call.method.as_str() == method::TOOLS_CALL
            && call.cx.peer().meta().get(WHOLE_RESULTS).is_some();
        match is_whole {
            true => self.whole.call(call),
            false => self.limited.call(call),
        }
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        self.whole.notify(notification)
    }
}
