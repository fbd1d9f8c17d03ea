//! Subscriptions to changes, one request each.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::id::Id;
use crate::meta_object::Meta;
use crate::tag;

/// Parameters of `subscriptions/listen`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SubscriptionsListenParams {
    /// Metadata; required on the wire.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Notifications that the client asks for.
    pub notifications: SubscriptionFilter,
}

/// Kinds of changes to be notified of; kinds that are left out are not sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
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
#[non_exhaustive]
pub struct SubscriptionsAcknowledgedParams {
    /// Metadata, with the id of the subscription.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Notifications that the server will send.
    pub notifications: SubscriptionFilter,
}

/// Result of `subscriptions/listen`: the subscription has ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubscriptionsListenResult {
    /// Always complete.
    #[serde(default)]
    pub result_type: tag::Complete,
    /// Metadata, with the id of the subscription.
    #[serde(rename = "_meta")]
    pub meta: Meta,
}

impl SubscriptionsListenParams {
    /// Asks for these notifications.
    #[must_use]
    pub const fn new(notifications: SubscriptionFilter) -> Self {
        Self {
            meta: None,
            notifications,
        }
    }
}

impl SubscriptionFilter {
    /// A filter without any kind of change.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds changes of the list of tools.
    #[must_use]
    pub fn with_tools(mut self) -> Self {
        self.tools_list_changed = Some(true);
        self
    }

    /// Adds changes of the list of prompts.
    #[must_use]
    pub fn with_prompts(mut self) -> Self {
        self.prompts_list_changed = Some(true);
        self
    }

    /// Adds changes of the list of resources.
    #[must_use]
    pub fn with_resources(mut self) -> Self {
        self.resources_list_changed = Some(true);
        self
    }

    /// Adds changes of the resource with this URI.
    #[must_use]
    pub fn with_resource(mut self, uri: impl Into<String>) -> Self {
        let uris = self.resource_subscriptions.get_or_insert_default();
        uris.push(uri.into());
        self
    }

    /// Adds changes of the task with this id.
    #[must_use]
    pub fn with_task(mut self, task_id: impl Into<String>) -> Self {
        self.task_ids.get_or_insert_default().push(task_id.into());
        self
    }

    /// Keeps the first `limit` resources and the first `limit` tasks, each once.
    pub fn limit_targets(&mut self, limit: usize) {
        let kinds = [&mut self.resource_subscriptions, &mut self.task_ids];
        for targets in kinds.into_iter().flatten() {
            let mut kept = HashSet::new();
            // One that is named again takes no place.
            targets.retain(|target| kept.len() < limit && kept.insert(target.clone()));
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_is_named_again_takes_no_place() {
        let names = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect());
        let mut filter = SubscriptionFilter {
            resource_subscriptions: names(&["a", "a", "b", "a", "c"]),
            task_ids: names(&["1", "2", "2"]),
            ..SubscriptionFilter::default()
        };
        filter.limit_targets(2);
        let expect = SubscriptionFilter {
            resource_subscriptions: names(&["a", "b"]),
            task_ids: names(&["1", "2"]),
            ..SubscriptionFilter::default()
        };
        assert_eq!(filter, expect);
    }
}
