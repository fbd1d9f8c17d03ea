//! Subscriptions to changes, one request each.

use serde::{Deserialize, Serialize};

use crate::id::Id;
use crate::meta_object::Meta;
use crate::tag;

/// Parameters of `subscriptions/listen`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SubscriptionsListenParams {
    /// Metadata; required on the wire.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// What to tell.
    pub notifications: SubscriptionFilter,
}

/// The changes to tell; whatever is left out is not told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionFilter {
    /// Changes of the list of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools_list_changed: Option<bool>,
    /// Changes of the list of prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts_list_changed: Option<bool>,
    /// Changes of the list of resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources_list_changed: Option<bool>,
    /// Changes of the resources with these URIs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_subscriptions: Option<Vec<String>>,
    /// Changes of the tasks with these ids; of the tasks extension.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_ids: Option<Vec<String>>,
}

/// Parameters of `notifications/subscriptions/acknowledged`, the first on a subscription.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SubscriptionsAcknowledgedParams {
    /// Metadata, with the id of the subscription.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// What will be told.
    pub notifications: SubscriptionFilter,
}

/// Result of `subscriptions/listen`: the subscription has ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionsListenResult {
    /// Always complete.
    #[serde(default)]
    pub result_type: tag::Complete,
    /// Metadata, with the id of the subscription.
    #[serde(rename = "_meta")]
    pub meta: Meta,
}

impl SubscriptionsAcknowledgedParams {
    /// Acknowledges the subscription that the request with this id asks for.
    #[must_use]
    pub fn new(subscription_id: &Id, notifications: SubscriptionFilter) -> Self {
        Self {
            meta: Some(Meta::subscription(subscription_id)),
            notifications,
        }
    }
}

impl SubscriptionsListenResult {
    /// Ends the subscription that the request with this id asked for.
    #[must_use]
    pub fn new(subscription_id: &Id) -> Self {
        Self {
            result_type: tag::Complete::Value,
            meta: Meta::subscription(subscription_id),
        }
    }
}
