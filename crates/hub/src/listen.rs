use callgate_mcp::wire::subscription::{
    SubscriptionFilter, SubscriptionsListenParams, SubscriptionsListenResult,
};
use callgate_mcp::{Call, Error, RawJson, Reply};

use crate::catalog::ListKind;
use crate::shared::Shared;
use crate::watched::WatchedResource;

/// Maximum number of resources in one subscription; the rest is not acknowledged.
const MAX_RESOURCES: usize = 1_000;

/// Answers `subscriptions/listen` until the subscription is closed. Dropping the future unsubscribes.
pub(crate) async fn listen(shared: &Shared, call: Call) -> Result<Reply, Error> {
    let (_, params, cx) = call.into_parts();
    let params: SubscriptionsListenParams = params.decode().map_err(|error| {
        Error::invalid_params("`notifications` must be an object that selects notifications")
            .with_source(error)
    })?;
    let asked = params.notifications;
    let resources = watched_resources(shared, &asked);
    let mut accepted = SubscriptionFilter::default();
    accepted.tools_list_changed = asked.tools_list_changed.filter(|asked| *asked);
    accepted.prompts_list_changed = asked.prompts_list_changed.filter(|asked| *asked);
    accepted.resources_list_changed = asked.resources_list_changed.filter(|asked| *asked);
    let uris = resources.iter().map(|resource| resource.exposed.clone());
    accepted.resource_subscriptions = asked.resource_subscriptions.map(|_| uris.collect());
    let _watch = shared.watched.watch(resources);
    shared
        .catalog
        .subscribers
        .serve(&cx, accepted, shared.max_subscriptions, |change, meta| {
            change.notification(meta.clone())
        })
        .await?;
    let end = RawJson::encode(&SubscriptionsListenResult::new(&cx.id));
    Ok(Reply::Complete(end.expect("the result is JSON")))
}

/// The resources of a filter that a server has.
fn watched_resources(shared: &Shared, asked: &SubscriptionFilter) -> Vec<WatchedResource> {
    let snapshot = shared.catalog.snapshot();
    let list = snapshot.list(ListKind::Resources);
    let uris = asked.resource_subscriptions.iter().flatten();
    let found = uris.take(MAX_RESOURCES).filter_map(|uri| {
        let item = list.get(uri)?;
        Some(WatchedResource {
            server: item.server.name().clone(),
            own: item.own.to_string(),
            exposed: uri.clone(),
        })
    });
    found.collect()
}
