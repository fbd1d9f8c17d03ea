use std::future::Future;
use std::marker::PhantomData;

use super::context::RequestCx;
use super::handler::{Arguments, Handler, NoArguments};

/// Gives a handler shared state as its first parameter, so that it can be a method of the state.
///
/// Each request gets a clone of the state, which should be cheap: an `Arc`, or a type made of them.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use callgate_mcp::router::{Router, with};
/// use callgate_mcp::wire::implementation::Implementation;
///
/// #[derive(Clone, Default)]
/// struct Counter(Arc<AtomicU64>);
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Add { amount: u64 }
///
/// impl Counter {
///     async fn add(self, Add { amount }: Add) -> String {
///         let before = self.0.fetch_add(amount, Ordering::Relaxed);
///         format!("{}", before + amount)
///     }
///
///     async fn reset(self) -> String {
///         self.0.store(0, Ordering::Relaxed);
///         "0".to_owned()
///     }
/// }
///
/// let counter = Counter::default();
/// let router = Router::new(Implementation::new("counter", "1.0"))
///     .tool("add", "Adds to the counter", with(&counter, Counter::add))
///     .tool("reset", "Sets the counter to zero", with(&counter, Counter::reset));
/// ```
pub fn with<T: Clone, F>(state: &T, handler: F) -> WithState<T, F> {
    WithState {
        state: state.clone(),
        handler,
    }
}

/// Handler with shared state; see [`with`].
#[derive(Debug, Clone)]
pub struct WithState<T, F> {
    state: T,
    handler: F,
}

/// Signature of a handler with state; the rest of its parameters are `S`.
#[derive(Debug)]
pub struct Stateful<S>(PhantomData<S>);

impl<T, F, Fut> Handler<Stateful<()>> for WithState<T, F>
where
    T: Clone + Send + Sync + 'static,
    F: Fn(T) -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'static,
{
    type Arguments = NoArguments;
    type Output = Fut::Output;
    type Future = Fut;

    fn call(&self, _cx: RequestCx, _arguments: NoArguments) -> Fut {
        (self.handler)(self.state.clone())
    }
}

impl<T, F, A, Fut> Handler<Stateful<(A,)>> for WithState<T, F>
where
    T: Clone + Send + Sync + 'static,
    F: Fn(T, A) -> Fut + Send + Sync + 'static,
    A: Arguments,
    Fut: Future + Send + 'static,
{
    type Arguments = A;
    type Output = Fut::Output;
    type Future = Fut;

    fn call(&self, _cx: RequestCx, arguments: A) -> Fut {
        (self.handler)(self.state.clone(), arguments)
    }
}

impl<T, F, Fut> Handler<Stateful<(RequestCx,)>> for WithState<T, F>
where
    T: Clone + Send + Sync + 'static,
    F: Fn(T, RequestCx) -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'static,
{
    type Arguments = NoArguments;
    type Output = Fut::Output;
    type Future = Fut;

    fn call(&self, cx: RequestCx, _arguments: NoArguments) -> Fut {
        (self.handler)(self.state.clone(), cx)
    }
}

impl<T, F, A, Fut> Handler<Stateful<(RequestCx, A)>> for WithState<T, F>
where
    T: Clone + Send + Sync + 'static,
    F: Fn(T, RequestCx, A) -> Fut + Send + Sync + 'static,
    A: Arguments,
    Fut: Future + Send + 'static,
{
    type Arguments = A;
    type Output = Fut::Output;
    type Future = Fut;

    fn call(&self, cx: RequestCx, arguments: A) -> Fut {
        (self.handler)(self.state.clone(), cx, arguments)
    }
}
