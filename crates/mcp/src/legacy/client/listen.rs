use callgate_wire::subscription::{
    SubscriptionFilter, SubscriptionsAcknowledgedParams, SubscriptionsListenParams,
};
use callgate_wire::{Meta, Method, Notification, RawJson, method};
use serde::Serialize;

use super::flight::Client;
use super::session::Shared;
use super::tasks::require_extension;
use crate::error::{Error, Kind};
use crate::router::listeners::Wanted;
use crate::service::{Call, Reply};

/// The most resources that one subscription follows; the rest is not acknowledged.
const MOST_FOLLOWED: usize = 1_000;

/// Answers `subscriptions/listen` until the session is over. Dropping the future unsubscribes.
pub(super) async fn listen(shared: &Shared, call: Call) -> Result<Reply, Error> {
    let client = Client::of(&call);
    let Call { params, cx, .. } = call;
    let params: SubscriptionsListenParams = params.decode().map_err(|error| {
        Error::invalid_params("`notifications` must be an object of what to tell")
            .with_source(error)
    })?;
    if params.notifications.task_ids.is_some() {
        require_extension(&client)?;
    }
    let mut filter = offered(shared, params.notifications);
    if is_wanted(&filter)
        && let Err(error) = shared.transport.listen().await
    {
        tracing::debug!(server = %shared.name, %error, "the server tells no changes");
        filter = SubscriptionFilter::default();
    }
    let uris = filter.resource_subscriptions.take().unwrap_or_default();
    // Joined before the server is asked, so that no change after that is missed.
    let seat = shared
        .listeners
        .join(wanted(&filter, &uris), shared.config.listeners)
        .ok_or_else(|| Error::new(Kind::Busy, "too many subscriptions").retry_safe())?;
    let watch = shared.watched.watch(uris);
    let told = watch.settled().await;
    filter.resource_subscriptions = (!told.is_empty()).then_some(told);

    let acknowledged = SubscriptionsAcknowledgedParams::new(&cx.id, filter);
    let name = method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED;
    cx.notify.send(notification(name, &acknowledged)).await;
    if shared.is_deaf() {
        return Ok(Reply::subscription_end(&cx.id));
    }
    let meta = Meta::subscription(&cx.id);
    while let Some(changes) = seat.next().await {
        for change in changes {
            if let Some(notification) = change.notification(meta.clone()) {
                cx.notify.send(notification).await;
            }
        }
    }
    Ok(Reply::subscription_end(&cx.id))
}

/// The part of a filter that the server declares it can tell.
fn offered(shared: &Shared, asked: SubscriptionFilter) -> SubscriptionFilter {
    let yes = |asked: Option<bool>, family: &str| {
        let offered = || shared.server.has(&[family, "listChanged"]);
        (asked == Some(true) && offered()).then_some(true)
    };
    let subscribes = shared.server.has(&["resources", "subscribe"]);
    SubscriptionFilter {
        tools_list_changed: yes(asked.tools_list_changed, "tools"),
        prompts_list_changed: yes(asked.prompts_list_changed, "prompts"),
        resources_list_changed: yes(asked.resources_list_changed, "resources"),
        resource_subscriptions: asked
            .resource_subscriptions
            .filter(|_| subscribes)
            .map(followed),
        // Changes of tasks are learned by asking for them.
        task_ids: None,
    }
}

fn is_wanted(filter: &SubscriptionFilter) -> bool {
    *filter != SubscriptionFilter::default()
}

/// As many as one subscription follows, each once.
fn followed(mut uris: Vec<String>) -> Vec<String> {
    uris.truncate(MOST_FOLLOWED);
    let mut seen = std::collections::HashSet::new();
    uris.retain(|uri| seen.insert(uri.clone()));
    uris
}

fn wanted(filter: &SubscriptionFilter, uris: &[String]) -> Wanted {
    Wanted {
        tools: filter.tools_list_changed == Some(true),
        prompts: filter.prompts_list_changed == Some(true),
        resources: filter.resources_list_changed == Some(true),
        uris: uris.iter().cloned().collect(),
        ..Wanted::default()
    }
}

fn notification(name: &str, params: &impl Serialize) -> Notification {
    Notification {
        method: Method::new(name),
        params: RawJson::encode(params).expect("params are always JSON"),
    }
}
