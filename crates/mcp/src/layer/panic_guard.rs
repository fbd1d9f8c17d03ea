use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};

use callgate_wire::Id;

use crate::error::Error;
use crate::service::{BoxFuture, Call, Reply, Service};

/// Panic guard: a panic of the service below costs the one request that it was about.
///
/// The panic itself is printed by the panic hook of the process; the caller gets an internal error.
#[derive(Debug, Clone)]
pub struct PanicGuard<S>(S);

/// A guarded future panicked. It must not be polled again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Panicked;

impl<S: Service> PanicGuard<S> {
    /// Guards `service`.
    pub fn new(service: S) -> Self {
        Self(service)
    }
}

impl<S: Service> Service for PanicGuard<S> {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        let id = call.cx.id.clone();
        // A service may panic before it returns its future.
        let mut running = catch_unwind(AssertUnwindSafe(|| self.0.call(call))).ok();
        Box::pin(poll_fn(move |cx| match &mut running {
            Some(running) => poll_call(running, &id, cx),
            None => Poll::Ready(Err(panicked(&id))),
        }))
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        let mut running = catch_unwind(AssertUnwindSafe(|| self.0.notify(notification))).ok();
        Box::pin(poll_fn(move |cx| {
            let polled = match &mut running {
                Some(running) => poll_guarded(running, cx),
                None => Poll::Ready(Err(Panicked)),
            };
            polled.map(|outcome| {
                if outcome == Err(Panicked) {
                    tracing::error!("the handler of a notification panicked");
                }
            })
        }))
    }
}

/// Polls the call of the request `id`; a panic is the error of this one request.
pub(crate) fn poll_call(
    call: &mut BoxFuture<'_, Result<Reply, Error>>,
    id: &Id,
    cx: &mut Context<'_>,
) -> Poll<Result<Reply, Error>> {
    poll_guarded(call, cx).map(|outcome| outcome.unwrap_or_else(|Panicked| Err(panicked(id))))
}

fn panicked(id: &Id) -> Error {
    tracing::error!(%id, "a request handler panicked");
    Error::internal("the request handler panicked")
}

/// Polls a future; a panic in it is an error here.
pub(crate) fn poll_guarded<T>(
    future: &mut BoxFuture<'_, T>,
    cx: &mut Context<'_>,
) -> Poll<Result<T, Panicked>> {
    // A future that panicked is not polled again, so no broken state of it is ever seen.
    match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(polled) => polled.map(Ok),
        Err(_) => Poll::Ready(Err(Panicked)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::{Id, Method, RawJson};

    struct Panics;

    impl Service for Panics {
        fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            match call.method.as_str() {
                "now" => panic!("before there is a future"),
                "later" => Box::pin(async {
                    tokio::task::yield_now().await;
                    panic!("in the middle")
                }),
                _ => Box::pin(async { Ok(Reply::Complete(RawJson::empty_object())) }),
            }
        }
    }

    #[tokio::test]
    async fn a_panic_costs_one_request() {
        let service = PanicGuard::new(Panics);
        for (method, expect) in [
            ("now", Err("the request handler panicked")),
            ("later", Err("the request handler panicked")),
            ("fine", Ok("{}")),
        ] {
            let cx = crate::Cx::new(Id::number(1));
            let call = Call::new(Method::new(method), RawJson::empty_object(), cx);
            let outcome = service.call(call).await;
            let seen = outcome
                .map(|reply| reply.into_result().as_str().to_owned())
                .map_err(|error| error.to_string());
            assert_eq!(
                seen,
                expect.map(str::to_owned).map_err(str::to_owned),
                "{method}"
            );
        }
    }
}
