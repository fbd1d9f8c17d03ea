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
use crate::sample::{Sample, json, notification, request, response, value};

pub(super) fn samples() -> Vec<Sample> {
    [discover(), subscriptions(), notifications()]
        .into_iter()
        .flatten()
        .collect()
}

pub(super) fn discover_result() -> DiscoverResult {
    DiscoverResult {
        instructions: Some("Be nice".to_owned()),
        ttl_ms: Some(3_600_000),
        cache_scope: Some(CacheScope::Public),
        meta: Some(result_meta()),
        ..DiscoverResult::new(vec!["2026-07-28".to_owned()], capabilities())
    }
}

pub(super) fn cancelled() -> CancelledParams {
    CancelledParams {
        meta: Some(notification_meta()),
        reason: Some("No longer needed".to_owned()),
        ..CancelledParams::new(Id::number(3))
    }
}

fn discover() -> Vec<Sample> {
    let params = DiscoverParams {
        meta: Some(request_meta()),
    };
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
        Some(ListCapability {
            list_changed: Some(true),
        })
    };
    ServerCapabilities {
        experimental: Some([("x", json(&json!({ "y": 1 })))].into_iter().collect()),
        logging: object(),
        completions: object(),
        prompts: list(),
        resources: Some(ResourcesCapability {
            subscribe: Some(true),
            list_changed: Some(false),
        }),
        tools: list(),
        extensions: None,
    }
    .with_extension(callgate_wire::task::EXTENSION, RawJson::empty_object())
}

fn subscriptions() -> Vec<Sample> {
    let filter = SubscriptionFilter {
        tools_list_changed: Some(true),
        prompts_list_changed: Some(true),
        resources_list_changed: Some(false),
        resource_subscriptions: Some(vec!["file:///a".to_owned()]),
        task_ids: Some(vec!["task-1".to_owned()]),
    };
    let params = SubscriptionsListenParams {
        meta: Some(request_meta()),
        notifications: filter.clone(),
    };
    let id = Id::text("listen-1");
    let acknowledged = SubscriptionsAcknowledgedParams::new(&id, filter.clone());
    let ended = SubscriptionsListenResult::new(&id);
    let ended = SubscriptionsListenResult {
        meta: ended.meta.with(meta::SERVER_INFO, &implementation()),
        ..ended
    };
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
    let changed = NotificationParams {
        meta: Some(notification_meta()),
    };
    let progress = ProgressParams {
        meta: Some(notification_meta()),
        total: Number::from_f64(1.5),
        message: Some("Halfway".to_owned()),
        ..ProgressParams::new(Id::number(7), Number::from_f64(0.75).unwrap())
    };
    let log = LoggingMessageParams {
        meta: Some(notification_meta()),
        logger: Some("db".to_owned()),
        ..LoggingMessageParams::new(LogLevel::Error, RawJson::null())
    };
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
