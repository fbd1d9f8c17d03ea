use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::wire::subscription::SubscriptionFilter;
use callgate_mcp::wire::task::GetTaskParams;
use callgate_mcp::wire::{Meta, Splice, method};
use callgate_mcp::{Call, Method, Notification, Notifier, RawJson};
use futures_util::future::join_all;
use tokio::time::sleep;

use crate::route;
use crate::server::Server;
use crate::server_name::ServerName;

/// Tasks of one caller's subscription, by server.
///
/// Unlike resources, they are not watched in one subscription for all callers: a task belongs to its
/// caller, so each server is asked in the caller's name, and the answers pass with the ids changed.
#[derive(Default)]
pub(crate) struct TaskWatch {
    servers: Vec<(Arc<Server>, Vec<String>)>,
    /// Ids that a server was found for, as the caller knows them.
    pub(crate) exposed: Vec<String>,
}

/// Notifications of one server that may wait for the caller.
const QUEUE: usize = 64;
/// Pause before a subscription that ended is opened again.
const RETRY: Duration = Duration::from_secs(5);

impl TaskWatch {
    /// Finds the servers of the tasks with these ids.
    pub(crate) fn new(ids: &[String], server: impl Fn(&ServerName) -> Option<Arc<Server>>) -> Self {
        let mut by_server: BTreeMap<ServerName, Vec<String>> = BTreeMap::new();
        for id in ids {
            if let Some((name, own)) = route::split_task_id(id) {
                by_server.entry(name).or_default().push(own.to_owned());
            }
        }
        let mut watch = Self::default();
        for (name, own) in by_server {
            if let Some(server) = server(&name) {
                let exposed = own.iter().map(|own| route::task_id(&name, own));
                watch.exposed.extend(exposed);
                watch.servers.push((server, own));
            }
        }
        watch
    }

    /// Tells the caller of each change, until the future is dropped.
    pub(crate) async fn follow(&self, call: &Call) -> Infallible {
        let servers = self.servers.iter();
        join_all(servers.map(|(server, own)| follow(server, own, call))).await;
        std::future::pending().await
    }
}

async fn follow(server: &Server, own: &[String], call: &Call) {
    let mut filter = SubscriptionFilter::default();
    filter.task_ids = Some(own.to_vec());
    let filter = RawJson::encode(&filter).expect("a filter is JSON");
    loop {
        let (notify, mut notifications) = Notifier::channel(QUEUE);
        let mut listen = call.clone();
        if listen.set(&["notifications"], &filter).is_err() {
            return;
        }
        listen.cx.notify = notify;
        let mut listening = pin!(server.call(listen, true));
        let end = loop {
            tokio::select! {
                notification = poll_fn(|cx| notifications.poll_next(cx)) => {
                    // Changes before the server listens were missed, and none is from now on.
                    let acknowledged = method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED;
                    if notification.method.as_str() == acknowledged {
                        tell_all(server, own, call).await;
                    }
                    forward(server, notification, call).await;
                }
                end = &mut listening => break end,
            }
        };
        // Changes that came before the end still count.
        while let Some(notification) = notifications.try_next() {
            forward(server, notification, call).await;
        }
        if let Err(error) = end {
            tracing::debug!(server = %server.name(), %error, "the subscription to tasks ended");
        }
        sleep(RETRY).await;
    }
}

/// Tells the caller of the states of its tasks.
async fn tell_all(server: &Server, own: &[String], call: &Call) {
    for id in own {
        if let Some(notification) = current(server, id, call).await {
            forward(server, notification, call).await;
        }
    }
}

/// Passes on a change of a task, under the id that the caller knows.
async fn forward(server: &Server, notification: Notification, call: &Call) {
    if notification.method.as_str() != method::NOTIFICATIONS_TASKS {
        return;
    }
    let params = route::expose_task(notification.params, server);
    let method = notification.method;
    call.cx.notify.send(Notification { method, params }).await;
}

/// The state of a task, as a notification of the caller's subscription.
async fn current(server: &Server, id: &str, call: &Call) -> Option<Notification> {
    let (_, params, cx) = call.clone().into_parts();
    let get = RawJson::encode(&GetTaskParams::new(id)).ok()?;
    let meta = params.get("_meta").unwrap_or_else(RawJson::empty_object);
    let get = Splice::new(&get).set(&["_meta"], &meta).finish().ok()?;
    let get = Call::new(Method::new(method::TASKS_GET), get, cx);
    let result = server.call(get, true).await.ok()?.into_result();
    let meta = Meta::subscription(&call.cx.id);
    let params = Splice::new(&result)
        .remove(&["resultType"])
        .set(&["_meta"], &RawJson::from(meta))
        .finish();
    Some(Notification {
        method: Method::new(method::NOTIFICATIONS_TASKS),
        params: params.ok()?,
    })
}
