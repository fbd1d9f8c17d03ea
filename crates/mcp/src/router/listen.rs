use std::sync::Arc;

use callgate_wire::result::EmptyResult;
use callgate_wire::subscription::{SubscriptionFilter, SubscriptionsListenParams};
use callgate_wire::task::TaskNotificationParams;
use callgate_wire::{Meta, Method, Notification, RawJson, method};

use super::service::RouterState;
use super::task;
use crate::error::Error;
use crate::service::{Call, Cx, Reply};
use crate::subscribers::ServerChange;

/// Maximum number of resources, and of tasks, in one subscription; the rest is not acknowledged.
const MAX_TARGETS: usize = 1_000;

/// Answers `subscriptions/listen`: sends notifications until the subscription is closed. Dropping
/// the future unsubscribes.
pub(crate) async fn listen(router: &Arc<RouterState>, call: Call) -> Result<Reply, Error> {
    let (_, params, cx) = call.into_parts();
    // The message itself is dropped here: a subscription stays for long.
    let mut params: SubscriptionsListenParams = params.into_json().decode().map_err(|error| {
        Error::invalid_params("`notifications` must be an object that selects notifications")
            .with_source(error)
    })?;
    params.notifications.limit_targets(MAX_TARGETS);
    let accepted = accepted_filter(router, &cx, params.notifications)?;
    let limit = router.catalog().max_subscriptions;
    let notification = |change, meta: &Meta| change_notification(router, &cx, change, meta);
    router
        .subscribers
        .serve(&cx, accepted, limit, notification)
        .await?;
    let result = EmptyResult::default();
    let meta = Meta::subscription(&cx.id);
    router.results.complete(&result, Some(meta))
}

/// Part of a filter that is honored.
fn accepted_filter(
    router: &RouterState,
    cx: &Cx,
    asked: SubscriptionFilter,
) -> Result<SubscriptionFilter, Error> {
    if asked.task_ids.is_some() {
        task::require_extension(cx.peer())?;
    }
    // Tasks of other callers are left out like unknown ones, so that ids cannot be probed.
    let is_known = |id: &String| router.tasks.get(id, &cx.caller).is_some();
    let tasks = |ids: Vec<String>| ids.into_iter().filter(is_known).collect();
    let catalog = router.catalog();
    let yes = |asked: Option<bool>, offered: bool| (asked == Some(true) && offered).then_some(true);
    let has_resources = catalog.has_resources();
    let mut accepted = SubscriptionFilter::default();
    accepted.tools_list_changed = yes(asked.tools_list_changed, catalog.tools.was_used());
    accepted.prompts_list_changed = yes(asked.prompts_list_changed, catalog.prompts.was_used());
    accepted.resources_list_changed = yes(asked.resources_list_changed, has_resources);
    accepted.resource_subscriptions = asked.resource_subscriptions.filter(|_| has_resources);
    accepted.task_ids = asked.task_ids.filter(|_| catalog.has_tasks).map(tasks);
    Ok(accepted)
}

/// Notification of a change; `None` for a task that has expired since.
fn change_notification(
    router: &RouterState,
    cx: &Cx,
    change: ServerChange,
    meta: &Meta,
) -> Option<Notification> {
    match change {
        ServerChange::Task(id) => {
            let task = router.tasks.get(&id, &cx.caller)?.snapshot();
            let params = TaskNotificationParams::new(task, meta.clone());
            Some(Notification {
                method: Method::new(method::NOTIFICATIONS_TASKS),
                params: RawJson::encode(&params).expect("params are JSON"),
            })
        }
        change => change.notification(meta.clone()),
    }
}
