use std::sync::{Arc, Mutex};
use std::time::Duration;

use callgate_mcp::layer::{
    AnswerInput, HeaderParamCache, InputRounds, LargeResultLimits, LargeResults, PanicGuard,
    ProgressFilter, PublicErrors, Roots, TimeLimits, Timeout,
};
use callgate_mcp::wire::input::{InputRequests, InputResponses};
use callgate_mcp::wire::{Id, Method, RawJson};
use callgate_mcp::{BoxFuture, Call, Cx, Error, Reply, Service};

/// Remembers the methods of the notifications that reach it.
#[derive(Default)]
struct Told(Mutex<Vec<String>>);

impl Service for Told {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(async move { Err(Error::method_not_found(&call.method)) })
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        let method = notification.method.to_string();
        self.0.lock().unwrap().push(method);
        Box::pin(std::future::ready(()))
    }
}

impl AnswerInput for Told {
    fn answer<'a>(
        &'a self,
        _: &'a Call,
        _: InputRequests,
    ) -> BoxFuture<'a, Result<InputResponses, Error>> {
        Box::pin(async { Ok(InputResponses::new()) })
    }
}

#[tokio::test]
async fn every_layer_passes_the_notifications_of_its_caller_on() {
    let told = Arc::new(Told::default());
    let service = || told.clone();
    let mut limits = TimeLimits::default();
    limits.idle = Duration::from_secs(1);
    let layers: [(&str, Arc<dyn Service>); 8] = [
        ("timeout", Arc::new(Timeout::new(service(), limits))),
        (
            "input rounds",
            Arc::new(InputRounds::new(service(), service(), 1)),
        ),
        ("progress filter", Arc::new(ProgressFilter::new(service()))),
        ("panic guard", Arc::new(PanicGuard::new(service()))),
        (
            "header param cache",
            Arc::new(HeaderParamCache::new(service())),
        ),
        ("public errors", Arc::new(PublicErrors::new(service()))),
        ("roots", Arc::new(Roots::new(service(), Vec::new()))),
        (
            "large results",
            Arc::new(LargeResults::new(service(), LargeResultLimits::default())),
        ),
    ];
    for (name, layer) in layers {
        let cx = Cx::new(Id::number(0));
        let method = Method::new("notifications/unknown");
        layer
            .notify(Call::new(method, RawJson::empty_object(), cx))
            .await;
        let seen = std::mem::take(&mut *told.0.lock().unwrap());
        assert_eq!(seen, ["notifications/unknown"], "{name}");
    }
}
