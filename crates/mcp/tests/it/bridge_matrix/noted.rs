use std::sync::{Arc, Mutex};

use callgate_mcp::wire::RawJson;
use callgate_mcp::{BoxFuture, Call, Error, Reply, Service};
use tokio::sync::watch;

/// A service that notes what it is asked and what it answers.
pub(crate) struct Noted {
    service: Arc<dyn Service>,
    exchanges: Mutex<Vec<Exchange>>,
    notifications: watch::Sender<Vec<(String, RawJson)>>,
}

/// A request that was answered.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub(crate) method: String,
    pub(crate) params: RawJson,
    pub(crate) result: RawJson,
}

impl Noted {
    pub(crate) fn new(service: Arc<dyn Service>) -> Self {
        Self {
            service,
            exchanges: Mutex::default(),
            notifications: watch::Sender::default(),
        }
    }

    /// What was asked and answered so far, but for what old edges look up on their own.
    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        let exchanges = self.exchanges.lock().unwrap().clone();
        let is_noted = |each: &Exchange| !matches!(&*each.method, "server/discover" | "tools/list");
        exchanges.into_iter().filter(is_noted).collect()
    }
}

impl Noted {
    /// Waits for a notification of the client, and returns all so far.
    pub(crate) async fn notifications(&self) -> Vec<(String, RawJson)> {
        let mut notifications = self.notifications.subscribe();
        let some = notifications.wait_for(|them| !them.is_empty()).await;
        some.unwrap().clone()
    }
}

impl Service for Noted {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(async move {
            let method = call.method.as_str().to_owned();
            let params = RawJson::clone(call.params());
            let reply = self.service.call(call).await?;
            let result = reply.clone().into_result();
            self.exchanges.lock().unwrap().push(Exchange {
                method,
                params,
                result,
            });
            Ok(reply)
        })
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        let (method, params, _) = notification.into_parts();
        let noted = (method.as_str().to_owned(), params.into_json());
        self.notifications.send_modify(|them| them.push(noted));
        Box::pin(std::future::ready(()))
    }
}
