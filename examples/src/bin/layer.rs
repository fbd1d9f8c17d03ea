//! A service around a service: it counts the calls that pass and relays them as they are.
//!
//! In this folder: `cargo run --bin layer`

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use callgate_mcp::{BoxFuture, Call, Client, Error, Implementation, Reply, Router, Service};
use serde_json::json;

/// Limits, logs, policies and caches all look like this.
struct Counted<S> {
    inner: S,
    calls: AtomicUsize,
}

impl<S: Service> Service for Counted<S> {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        Box::pin(async move {
            println!("call {number} asks for {}", call.method.as_str());
            let outcome = self.inner.call(call).await;
            println!(
                "call {number} is {}",
                if outcome.is_ok() {
                    "answered"
                } else {
                    "refused"
                }
            );
            outcome
        })
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        self.inner.notify(notification)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let inner =
        Router::new(Implementation::new("greeter", "1.0"))
            .tool("hello", "Greets", || async { "hello" });
    let service = Counted {
        inner,
        calls: AtomicUsize::new(0),
    };
    // No transport is needed to ask a service.
    let client = Client::builder(Arc::new(service)).build();
    client.call_tool("hello", &json!({})).await?;
    let unknown = client.call_tool("goodbye", &json!({})).await;
    println!("{}", unknown.expect_err("there is no such tool"));
    Ok(())
}
