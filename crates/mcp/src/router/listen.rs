use std::sync::Arc;

use callgate_wire::result::EmptyResult;
use callgate_wire::subscription::{
    SubscriptionFilter, SubscriptionsAcknowledgedParams, SubscriptionsListenParams,
};
use callgate_wire::task::TaskNotificationParams;
use callgate_wire::{Meta, Method, Notification, RawJson, method};
use serde::Serialize;

use super::listeners::{Change, Wanted};
use super::service::Shared;
use super::task;
use crate::error::{Error, Kind};
use crate::service::{Call, Cx, Reply};

/// The most resources and the most tasks that one subscription follows; the rest is not
/// acknowledged.
const MAX_FOLLOWED: usize = 1_000;

/// Answers `subscriptions/listen`, for as long as it takes. Dropping the future unsubscribes.
pub(crate) async fn listen(shared: &Arc<Shared>, call: Call) -> Result<Reply, Error> {
    let Call { params, cx, .. } = call;
    let params: SubscriptionsListenParams = params.decode().map_err(|error| {
        Error::invalid_params("`notifications` must be an object of what to tell")
            .with_source(error)
    })?;
    let accepted = accept(shared, &cx, params.notifications)?;
    let limit = shared.catalog().max_listeners;
    // Joined before the acknowledgement, so that no change after it is missed.
    let seat = shared
        .listeners
        .join(wanted(&accepted), limit)
        .ok_or_else(|| Error::new(Kind::Busy, "too many subscriptions").retry_safe())?;
    let acknowledged = acknowledge(&cx, accepted);
    cx.notify.send(acknowledged).await;
    let meta = Meta::subscription(&cx.id);
    while let Some(changes) = seat.next().await {
        for change in changes {
            if let Some(notification) = tell(shared, &cx, change, &meta) {
                cx.notify.send(notification).await;
            }
        }
    }
    let result = EmptyResult::default();
    shared.results.complete(&result, Some(meta))
}

/// The notification that says what the subscriber will be told.
fn acknowledge(cx: &Cx, accepted: SubscriptionFilter) -> Notification {
    let name = method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED;
    let params = SubscriptionsAcknowledgedParams::new(&cx.id, accepted);
    notification(name, &params)
}

/// The part of a filter that will be honored.
fn accept(
    shared: &Shared,
    cx: &Cx,
    asked: SubscriptionFilter,
) -> Result<SubscriptionFilter, Error> {
    if asked.task_ids.is_some() {
        task::require_extension(&cx.peer)?;
    }
    let is_known = |id: &String| shared.tasks.get(id, &cx.caller).is_some();
    let tasks = |ids| followed(ids).into_iter().filter(is_known).collect();
    let catalog = shared.catalog();
    let yes = |asked: Option<bool>, offered: bool| (asked == Some(true) && offered).then_some(true);
    let has_resources = catalog.has_resources();
    Ok(SubscriptionFilter {
        tools_list_changed: yes(asked.tools_list_changed, catalog.tools.was_used()),
        prompts_list_changed: yes(asked.prompts_list_changed, catalog.prompts.was_used()),
        resources_list_changed: yes(asked.resources_list_changed, has_resources),
        resource_subscriptions: asked
            .resource_subscriptions
            .filter(|_| has_resources)
            .map(followed),
        task_ids: asked.task_ids.filter(|_| catalog.has_tasks).map(tasks),
    })
}

/// As many as one subscription follows, each once.
fn followed(mut names: Vec<String>) -> Vec<String> {
    names.truncate(MAX_FOLLOWED);
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

fn wanted(accepted: &SubscriptionFilter) -> Wanted {
    let set = |names: &Option<Vec<String>>| names.iter().flatten().cloned().collect();
    Wanted {
        tools: accepted.tools_list_changed == Some(true),
        prompts: accepted.prompts_list_changed == Some(true),
        resources: accepted.resources_list_changed == Some(true),
        uris: set(&accepted.resource_subscriptions),
        task_ids: set(&accepted.task_ids),
    }
}

/// The notification of a change; none for a task that is already forgotten.
fn tell(shared: &Shared, cx: &Cx, change: Change, meta: &Meta) -> Option<Notification> {
    match change {
        Change::Task(id) => {
            let task = shared.tasks.get(&id, &cx.caller)?.snapshot();
            let meta = Some(meta.clone());
            let params = TaskNotificationParams { task, meta };
            Some(notification(method::NOTIFICATIONS_TASKS, &params))
        }
        change => change.notification(meta.clone()),
    }
}

fn notification(name: &str, params: &impl Serialize) -> Notification {
    Notification {
        method: Method::new(name),
        params: RawJson::encode(params).expect("params are JSON"),
    }
}
