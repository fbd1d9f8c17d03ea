use callgate_wire::cache::CacheScope;
use callgate_wire::cancel::CancelledParams;
use callgate_wire::capabilities::{ListCapability, ResourcesCapability, ServerCapabilities};
use callgate_wire::discover::{DiscoverParams, DiscoverResult};
use callgate_wire::logging::{LogLevel, LoggingMessageParams};
use callgate_wire::params::NotificationParams;
use callgate_wire::progress::ProgressParams;
use callgate_wire::subscription::{
    SubscriptionFilter, SubscriptionsAcknowledgedParams, SubscriptionsListenParams,
    SubscriptionsListenResult,
};
use callgate_wire::{Id, Number, RawJson, meta, method};
use serde_json::json;

use super::{implementation, notification_meta, request_meta, result_meta};
use crate::sample::{Sample, json, notification, request, response, value, with};

pub(super) fn samples() -> Vec<Sample> {
    [discover(), subscriptions(), notifications()]
        .into_iter()
        .flatten()
        .collect()
}

pub(super) fn discover_result() -> DiscoverResult {
    with(
        DiscoverResult::new(vec!["2026-07-28".to_owned()], capabilities()),
        |it| {
            it.instructions = Some("Be nice".to_owned());
            it.ttl_ms = Some(3_600_000);
            it.cache_scope = Some(CacheScope::Public);
            it.meta = Some(result_meta());
        },
    )
}

pub(super) fn cancelled() -> CancelledParams {
    with(CancelledParams::new(Id::number(3)), |it| {
        it.meta = Some(notification_meta());
        it.reason = Some("No longer needed".to_owned());
    })
}

fn discover() -> Vec<Sample> {
    let params = with(DiscoverParams::default(), |it| {
        it.meta = Some(request_meta());
    });
    vec![
        value("ServerCapabilities", &capabilities()),
        value("RequestParams", &params),
        request("DiscoverRequest", method::SERVER_DISCOVER, &params),
        value("DiscoverResult", &discover_result()),
        value(
            "DiscoverResult",
            &DiscoverResult::new(vec![], ServerCapabilities::default()),
        ),
        response("DiscoverResultResponse", &discover_result()),
    ]
}

fn capabilities() -> ServerCapabilities {
    let object = || Some(RawJson::empty_object());
    let list = || {
        Some(with(ListCapability::default(), |it| {
            it.list_changed = Some(true);
        }))
    };
    with(ServerCapabilities::default(), |it| {
        it.experimental = Some([("x", json(&json!({ "y": 1 })))].into_iter().collect());
        it.logging = object();
        it.completions = object();
        it.prompts = list();
        it.resources = Some(with(ResourcesCapability::default(), |it| {
            it.subscribe = Some(true);
            it.list_changed = Some(false);
        }));
        it.tools = list();
        it.extensions = None;
    })
    .with_extension(callgate_wire::task::EXTENSION, RawJson::empty_object())
}

fn subscriptions() -> Vec<Sample> {
    let filter = with(SubscriptionFilter::default(), |it| {
        it.tools_list_changed = Some(true);
        it.prompts_list_changed = Some(true);
        it.resources_list_changed = Some(false);
        it.resource_subscriptions = Some(vec!["file:///a".to_owned()]);
        it.task_ids = Some(vec!["task-1".to_owned()]);
    });
    let params = with(SubscriptionsListenParams::default(), |it| {
        it.meta = Some(request_meta());
        it.notifications = filter.clone();
    });
    let id = Id::text("listen-1");
    let acknowledged = SubscriptionsAcknowledgedParams::new(&id, filter.clone());
    let mut ended = SubscriptionsListenResult::new(&id);
    ended.meta = ended.meta.with(meta::SERVER_INFO, &implementation());
    vec![
        value("SubscriptionFilter", &filter),
        value("SubscriptionsListenRequestParams", &params),
        request(
            "SubscriptionsListenRequest",
            method::SUBSCRIPTIONS_LISTEN,
            &params,
        ),
        value("SubscriptionsAcknowledgedNotificationParams", &acknowledged),
        notification(
            "SubscriptionsAcknowledgedNotification",
            method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED,
            &acknowledged,
        ),
        value("SubscriptionsListenResultMetaObject", &ended.meta),
        value("SubscriptionsListenResult", &ended),
        response("SubscriptionsListenResultResponse", &ended),
    ]
}

fn notifications() -> Vec<Sample> {
    let changed = with(NotificationParams::default(), |it| {
        it.meta = Some(notification_meta());
    });
    let progress = with(
        ProgressParams::new(Id::number(7), Number::from_f64(0.75).unwrap()),
        |it| {
            it.meta = Some(notification_meta());
            it.total = Number::from_f64(1.5);
            it.message = Some("Halfway".to_owned());
        },
    );
    let log = with(
        LoggingMessageParams::new(LogLevel::Error, RawJson::null()),
        |it| {
            it.meta = Some(notification_meta());
            it.logger = Some("db".to_owned());
        },
    );
    let mut samples = vec![
        value("NotificationParams", &changed),
        value("CancelledNotificationParams", &cancelled()),
        value("ProgressNotificationParams", &progress),
        value("LoggingMessageNotificationParams", &log),
    ];
    for (name, method) in [
        (
            "ToolListChangedNotification",
            method::NOTIFICATIONS_TOOLS_LIST_CHANGED,
        ),
        (
            "PromptListChangedNotification",
            method::NOTIFICATIONS_PROMPTS_LIST_CHANGED,
        ),
        (
            "ResourceListChangedNotification",
            method::NOTIFICATIONS_RESOURCES_LIST_CHANGED,
        ),
    ] {
        samples.push(notification(name, method, &changed));
        samples.push(notification("ServerNotification", method, &changed));
    }
    for name in ["ProgressNotification", "ServerNotification", "Notification"] {
        samples.push(notification(
            name,
            method::NOTIFICATIONS_PROGRESS,
            &progress,
        ));
    }
    for name in ["LoggingMessageNotification", "ServerNotification"] {
        samples.push(notification(name, method::NOTIFICATIONS_MESSAGE, &log));
    }
    for name in ["CancelledNotification", "ClientNotification"] {
        samples.push(notification(
            name,
            method::NOTIFICATIONS_CANCELLED,
            &cancelled(),
        ));
    }
    for level in LEVELS {
        samples.push(value("LoggingLevel", &level));
    }
    samples
}

const LEVELS: [LogLevel; 8] = [
    LogLevel::Debug,
    LogLevel::Info,
    LogLevel::Notice,
    LogLevel::Warning,
    LogLevel::Error,
    LogLevel::Critical,
    LogLevel::Alert,
    LogLevel::Emergency,
];
