use std::sync::Arc;

use callgate_mcp::wire::subscription::{
    SubscriptionFilter, SubscriptionsListenParams, SubscriptionsListenResult,
};
use callgate_mcp::{Call, Error, RawJson, Reply};

use crate::catalog::{Selection, Snapshot};
use crate::route;
use crate::server::Server;
use crate::server_name::ServerName;
use crate::shared::Shared;
use crate::task_watch::TaskWatch;
use crate::watched::WatchedResource;

/// Maximum number of resources, and of tasks, in one subscription; the rest is not acknowledged.
const MAX_TARGETS: usize = 1_000;

/// Answers `subscriptions/listen` until the subscription is closed. Dropping the future unsubscribes.
pub(crate) async fn listen(
    shared: &Shared,
    selection: Selection,
    call: Call,
    server: impl Fn(&ServerName) -> Option<Arc<Server>> + Send,
) -> Result<Reply, Error> {
    let cx = &call.cx;
    let params: SubscriptionsListenParams = call.params().decode().map_err(|error| {
        Error::invalid_params("`notifications` must be an object that selects notifications")
            .with_source(error)
    })?;
    let mut asked = params.notifications;
    asked.limit_targets(MAX_TARGETS);
    let resources = watched_resources(&shared.catalog.snapshot(selection), &asked, &server);
    let mut accepted = SubscriptionFilter::default();
    accepted.tools_list_changed = asked.tools_list_changed.filter(|asked| *asked);
    accepted.prompts_list_changed = asked.prompts_list_changed.filter(|asked| *asked);
    accepted.resources_list_changed = asked.resources_list_changed.filter(|asked| *asked);
    let uris = resources.iter().map(|resource| resource.exposed.clone());
    accepted.resource_subscriptions = asked.resource_subscriptions.map(|_| uris.collect());
    let tasks = TaskWatch::new(asked.task_ids.as_deref().unwrap_or_default(), server);
    accepted.task_ids = asked.task_ids.map(|_| tasks.exposed.clone());
    let _watch = shared.watched.watch(resources);
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
    let found = uris.filter_map(|uri| {
        let (server, own) = route::owner_of(snapshot, uri, &server)?;
        Some(WatchedResource {
            server: server.name().clone(),
            own: own.to_string(),
            exposed: uri.clone(),
        })
    });
    found.collect()
}
