use callgate_wire::subscription::{
    SubscriptionFilter, SubscriptionsAcknowledgedParams, SubscriptionsListenParams,
};
use callgate_wire::{Meta, Method, Notification, RawJson, method};
use tokio::time::timeout;

use super::call_table::Requester;
use super::session::{STREAM_HEAD_START, SessionShared};
use super::tasks::require_extension;
use super::transport::StreamEnd;
use crate::error::Error;
use crate::service::{Call, Reply};
use crate::subscribers::{ChangeFilter, limit_reached};

/// Maximum number of resources of one subscription; the rest is not acknowledged.
const MOST_FOLLOWED: usize = 1_000;

/// Answers `subscriptions/listen` until the session ends, or the stream of its changes. Dropping the future
/// unsubscribes.
pub(super) async fn listen(shared: &SessionShared, call: Call) -> Result<Reply, Error> {
    let client = Requester::of(&call);
    let (_, params, cx) = call.into_parts();
    // The message itself is dropped here: a subscription stays for long.
    let mut params: SubscriptionsListenParams = params.into_json().decode().map_err(|error| {
        Error::invalid_params("`notifications` must be an object of what to tell")
            .with_source(error)
    })?;
    if params.notifications.task_ids.is_some() {
        require_extension(&client)?;
    }
    params.notifications.limit_targets(MOST_FOLLOWED);
    let mut filter = offered(shared, params.notifications);
    let mut stream_end = StreamEnd::never();
    if filter == SubscriptionFilter::default() {
        // Only for notifications that this client does not know, so it is not worth a long wait. The
        // stream is opened all the same.
        if let Ok(Ok(end)) = timeout(STREAM_HEAD_START, shared.transport.listen()).await {
            stream_end = end;
        }
    } else {
        match shared.transport.listen().await {
            Ok(end) => stream_end = end,
            Err(error) => {
                tracing::debug!(server = %shared.name, %error, "the server tells no changes");
                filter = SubscriptionFilter::default();
            }
        }
    }
    // Subscribed here before the server is, so that no change after its answer is missed.
    let seat = shared
        .listeners
        .subscribe_for(
            &cx.caller,
            ChangeFilter::new(&filter),
            shared.config.subscriptions,
            shared.config.subscriptions_per_caller,
        )
        .ok_or_else(limit_reached)?;
    let uris = filter.resource_subscriptions.take().unwrap_or_default();
    let guard = shared.resource_subscriptions.subscribe(uris);
    let accepted = guard.settled().await;
    filter.resource_subscriptions = (!accepted.is_empty()).then_some(accepted);

    let acknowledged = SubscriptionsAcknowledgedParams::new(&cx.id, filter);
    let acknowledged = Notification {
        method: Method::new(method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED),
        params: RawJson::encode(&acknowledged).expect("params are always JSON"),
    };
    let _entry = shared.listen_streams.add(&cx, acknowledged);
    // After the subscription: a session that ended before it would otherwise leave this stream open for ever.
    if shared.is_disconnected() {
        return Ok(Reply::subscription_end(&cx.id));
    }
    let meta = Meta::subscription(&cx.id);
    loop {
        let changes = tokio::select! {
            // In this order: what came before the end of the stream is told.
            biased;
            changes = seat.next() => changes,
            // The client listens again, and so learns if the server has a stream for it.
            () = stream_end.wait() => None,
        };
        let Some(changes) = changes else { break };
        for change in changes {
            if let Some(notification) = change.notification(meta.clone()) {
                cx.notify.send(notification).await;
            }
        }
    }
    Ok(Reply::subscription_end(&cx.id))
}

/// Part of a filter that the server declares to support.
fn offered(shared: &SessionShared, asked: SubscriptionFilter) -> SubscriptionFilter {
    let yes = |asked: Option<bool>, family: &str| {
        let offered = || shared.server.has(&[family, "listChanged"]);
        (asked == Some(true) && offered()).then_some(true)
    };
    let subscribes = shared.server.has(&["resources", "subscribe"]);
    // Without tasks: their changes are learned by asking for them.
    let mut offered = SubscriptionFilter::default();
    offered.tools_list_changed = yes(asked.tools_list_changed, "tools");
    offered.prompts_list_changed = yes(asked.prompts_list_changed, "prompts");
    offered.resources_list_changed = yes(asked.resources_list_changed, "resources");
    offered.resource_subscriptions = asked.resource_subscriptions.filter(|_| subscribes);
    offered
}
