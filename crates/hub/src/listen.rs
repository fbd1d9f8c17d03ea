use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;

use callgate_mcp::subscribers::ServerChange;
use callgate_mcp::wire::Meta;
use callgate_mcp::wire::subscription::{
    SubscriptionFilter, SubscriptionsListenParams, SubscriptionsListenResult,
};
use callgate_mcp::{Call, Cx, Error, RawJson, Reply};
use tokio::sync::watch;

use crate::catalog::{Selection, Snapshot};
use crate::route;
use crate::server::Server;
use crate::server_name::ServerName;
use crate::shared::Shared;
use crate::task_watch::TaskWatch;
use crate::watched::{Watch, WatchedResource};

/// Maximum number of resources, and of tasks, in one subscription; the rest is not acknowledged.
const MAX_TARGETS: usize = 1_000;

/// Answers `subscriptions/listen` until the subscription is closed. Dropping the future unsubscribes.
pub(crate) async fn listen(
    shared: &Shared,
    selection: Selection,
    call: Call,
    server: impl Fn(&ServerName) -> Option<Arc<Server>> + Send + Sync,
) -> Result<Reply, Error> {
    let cx = &call.cx;
    let params: SubscriptionsListenParams = call.params().decode().map_err(|error| {
        Error::invalid_params("`notifications` must be an object that selects notifications")
            .with_source(error)
    })?;
    let mut asked = params.notifications;
    asked.limit_targets(MAX_TARGETS);
    let mut snapshots = shared.catalog.follow(selection);
    // In a statement of its own: the lists stay locked until its end, and a publication of new ones may hold the lock
    // that `server` takes.
    let snapshot = snapshots.borrow_and_update().clone();
    let resources = watched_resources(&snapshot, &asked, &server);
    drop(snapshot);
    let mut accepted = SubscriptionFilter::default();
    accepted.tools_list_changed = asked.tools_list_changed.filter(|asked| *asked);
    accepted.prompts_list_changed = asked.prompts_list_changed.filter(|asked| *asked);
    accepted.resources_list_changed = asked.resources_list_changed.filter(|asked| *asked);
    let uris = resources.iter().map(|resource| resource.exposed.clone());
    accepted.resource_subscriptions = asked.resource_subscriptions.map(|_| uris.collect());
    let tasks = TaskWatch::new(asked.task_ids.as_deref().unwrap_or_default(), &server);
    accepted.task_ids = asked.task_ids.map(|_| tasks.exposed.clone());
    let names: BTreeSet<_> = resources.iter().map(|it| it.server.clone()).collect();
    let watch = shared.watched.watch(resources);
    for server in names.iter().filter_map(&server) {
        server.use_if_waiting();
    }
    let limit = shared.max_subscriptions;
    let subscribers = &shared.catalog.subscribers;
    let changes = subscribers.serve(cx, accepted, limit, |change, meta| {
        change.notification(meta.clone())
    });
    // The acknowledgment comes first, because the changes are polled first.
    tokio::select! {
        biased;
        served = changes => served?,
        never = tasks.follow(&call) => match never {},
        never = follow_owners(shared, snapshots, watch, &server, cx) => match never {},
    }
    let end = RawJson::encode(&SubscriptionsListenResult::new(&cx.id));
    Ok(Reply::Complete(end.expect("the result is JSON")))
}

/// The resources of a filter, each with the server that a read of it goes to. Those that no server lists
/// and no template fits are left out.
fn watched_resources(
    snapshot: &Snapshot,
    asked: &SubscriptionFilter,
    server: impl Fn(&ServerName) -> Option<Arc<Server>>,
) -> Vec<WatchedResource> {
    let uris = asked.resource_subscriptions.iter().flatten();
    uris.filter_map(|uri| watched_resource(snapshot, uri, &server))
        .collect()
}

fn watched_resource(
    snapshot: &Snapshot,
    uri: &str,
    server: impl Fn(&ServerName) -> Option<Arc<Server>>,
) -> Option<WatchedResource> {
    let (server, own) = route::owner_of(snapshot, uri, server)?;
    Some(WatchedResource {
        server: server.name().clone(),
        own: own.to_string(),
        exposed: uri.to_owned(),
    })
}

/// Watches each resource at the server that a read of it goes to, whichever that is at the time, and tells the caller
/// of those that another server has taken over; until the future is dropped.
async fn follow_owners(
    shared: &Shared,
    mut snapshots: watch::Receiver<Arc<Snapshot>>,
    mut watch: Watch<'_>,
    server: impl Fn(&ServerName) -> Option<Arc<Server>>,
    cx: &Cx,
) -> Infallible {
    let meta = Meta::subscription(&cx.id);
    // The sender lives as long as the hub.
    while !watch.resources.is_empty() && snapshots.changed().await.is_ok() {
        let snapshot = snapshots.borrow_and_update().clone();
        let current = watch.resources.iter().map(|watched| {
            let found = watched_resource(&snapshot, &watched.exposed, &server);
            // A server that is gone for now, or lists the resource no more, may come back.
            found.unwrap_or_else(|| watched.clone())
        });
        let current: Vec<_> = current.collect();
        let pairs = watch.resources.iter().zip(&current);
        let moved = pairs.filter(|(before, now)| before != now);
        let moved: Vec<_> = moved.map(|(_, now)| now.exposed.clone()).collect();
        if moved.is_empty() {
            continue;
        }
        // The new watch begins before the old one ends, so that a server which keeps resources is not asked twice.
        watch = shared.watched.watch(current);
        for uri in moved {
            if let Some(changed) = ServerChange::Resource(uri).notification(meta.clone()) {
                cx.notify.send(changed).await;
            }
        }
    }
    std::future::pending().await
}
