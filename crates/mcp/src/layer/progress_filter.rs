use crate::error::Error;
use crate::service::{BoxFuture, Call, Reply, Service};

/// Progress filter: keeps progress from callers that gave no progress token.
///
/// Each hop asks for progress with a token of its own, because [`Timeout`](super::Timeout) needs it
/// as a sign of life. A client must not receive progress that it did not ask for.
#[derive(Debug, Clone)]
pub struct ProgressFilter<S>(S);

impl<S: Service> ProgressFilter<S> {
    /// Filters the notifications of `service`.
    pub fn new(service: S) -> Self {
        Self(service)
    }
}

impl<S: Service> Service for ProgressFilter<S> {
    fn call(&self, mut call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        if call.cx.peer().progress_token().is_none() {
            call.cx.notify = call.cx.notify.without_progress();
        }
        self.0.call(call)
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        self.0.notify(notification)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cx, Notifier};
    use callgate_wire::{Id, Method, Notification, RawJson, method};

    struct Reports;

    impl Service for Reports {
        fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            Box::pin(async move {
                for name in [
                    method::NOTIFICATIONS_PROGRESS,
                    method::NOTIFICATIONS_MESSAGE,
                ] {
                    let (method, params) = (Method::new(name), RawJson::empty_object());
                    let notification = Notification { method, params };
                    call.cx.notify.send(notification.clone()).await;
                    call.cx.notify.offer(notification);
                }
                Ok(Reply::Complete(RawJson::empty_object()))
            })
        }
    }

    #[tokio::test]
    async fn progress_reaches_only_calls_that_asked_for_it() {
        let (progress, message) = ("notifications/progress", "notifications/message");
        for (params, expect) in [
            ("{}", vec![message, message]),
            (
                r#"{"_meta":{"progressToken":1}}"#,
                vec![progress, progress, message, message],
            ),
        ] {
            let (notify, mut notifications) = Notifier::channel(8);
            let cx = Cx::new(Id::number(1)).with_notifier(notify);
            let params = serde_json::from_str(params).unwrap();
            let call = Call::new(Method::new("tools/call"), params, cx);
            ProgressFilter::new(Reports).call(call).await.unwrap();
            let seen: Vec<_> = std::iter::from_fn(|| notifications.try_next())
                .map(|notification| notification.method.as_str().to_owned())
                .collect();
            assert_eq!(seen, expect);
        }
    }
}
