use std::collections::VecDeque;

use callgate_wire::resource::ResourceUpdatedParams;
use callgate_wire::subscription::SubscriptionFilter;
use callgate_wire::{Method, Notification, ObjectEdit, RawJson, meta, method};

use crate::legacy::server::convert;

/// Changes that wait to be sent, each once, oldest first.
///
/// A notification only says that something changed, so one for each thing is enough.
#[derive(Debug)]
pub(super) struct PendingChanges {
    most: usize,
    waiting: VecDeque<Notification>,
    bytes: usize,
}

/// Maximum bytes of the changes that wait; a single one may have more.
const MAX_BYTES: usize = 1024 * 1024;

impl PendingChanges {
    /// Changes of which at most `most` wait; a newer one replaces the oldest.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            waiting: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Adds a notification of a subscription, without the id of the subscription.
    ///
    /// One that this server does not know passes each time, since it may say more than that
    /// something changed.
    pub(super) fn add(&mut self, notification: &Notification) {
        let told = Notification {
            method: notification.method.clone(),
            params: without_subscription(&notification.params),
        };
        match told.method.as_str() {
            method::NOTIFICATIONS_TOOLS_LIST_CHANGED
            | method::NOTIFICATIONS_PROMPTS_LIST_CHANGED
            | method::NOTIFICATIONS_RESOURCES_LIST_CHANGED
            | method::NOTIFICATIONS_RESOURCES_UPDATED => self.insert(told),
            // These are not for the client of a session, or mean something else to it.
            method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED
            | method::NOTIFICATIONS_CANCELLED
            | method::NOTIFICATIONS_PROGRESS
            | method::NOTIFICATIONS_MESSAGE
            | method::NOTIFICATIONS_TASKS => {}
            _ => self.push(told),
        }
    }

    /// Adds a change of everything in `filter`: after a gap, any of it may have changed.
    pub(super) fn add_all(&mut self, filter: &SubscriptionFilter) {
        for (wanted, name) in [
            (
                filter.tools_list_changed,
                method::NOTIFICATIONS_TOOLS_LIST_CHANGED,
            ),
            (
                filter.prompts_list_changed,
                method::NOTIFICATIONS_PROMPTS_LIST_CHANGED,
            ),
            (
                filter.resources_list_changed,
                method::NOTIFICATIONS_RESOURCES_LIST_CHANGED,
            ),
        ] {
            if wanted == Some(true) {
                self.insert(Notification {
                    method: Method::new(name),
                    params: RawJson::empty_object(),
                });
            }
        }
        for uri in filter.resource_subscriptions.iter().flatten() {
            let params = ResourceUpdatedParams::new(uri);
            self.insert(Notification {
                method: Method::new(method::NOTIFICATIONS_RESOURCES_UPDATED),
                params: RawJson::encode(&params).expect("params are always JSON"),
            });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The oldest change.
    pub(super) fn next(&mut self) -> Option<Notification> {
        let next = self.waiting.pop_front()?;
        self.bytes -= size(&next);
        Some(next)
    }

    fn insert(&mut self, notification: Notification) {
        if !self.waiting.contains(&notification) {
            self.push(notification);
        }
    }

    fn push(&mut self, notification: Notification) {
        let bytes = size(&notification);
        while self.waiting.len() >= self.most || self.bytes + bytes > MAX_BYTES {
            if self.next().is_none() {
                break;
            }
        }
        self.bytes += bytes;
        self.waiting.push_back(notification);
    }
}

fn size(notification: &Notification) -> usize {
    notification.method.as_str().len() + notification.params.as_bytes().len()
}

fn without_subscription(params: &RawJson) -> RawJson {
    let mut edit = ObjectEdit::new(params);
    convert::remove_meta(&mut edit, meta::SUBSCRIPTION_ID);
    edit.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::Limits;

    fn notification(name: &str, params: &str) -> Notification {
        Notification {
            method: Method::new(name),
            params: RawJson::parse(params.to_owned().into(), &Limits::default()).unwrap(),
        }
    }

    fn updated(uri: u32, meta: &str) -> Notification {
        notification(
            "notifications/resources/updated",
            &format!(r#"{{"uri":"a:{uri}"{meta}}}"#),
        )
    }

    fn rest(mut pending: PendingChanges) -> Vec<Notification> {
        std::iter::from_fn(|| pending.next()).collect()
    }

    #[test]
    fn changes_are_told_once_and_without_the_name_of_the_subscription() {
        let mut pending = PendingChanges::new(8);
        let id = r#""io.modelcontextprotocol/subscriptionId":7"#;
        pending.add(&updated(1, &format!(r#","_meta":{{{id}}}"#)));
        pending.add(&updated(2, &format!(r#","_meta":{{{id},"x":1}}"#)));
        pending.add(&updated(1, ""));
        pending.add(&notification(
            "notifications/subscriptions/acknowledged",
            "{}",
        ));
        assert_eq!(
            rest(pending),
            [updated(1, ""), updated(2, r#","_meta":{"x":1}"#)]
        );
    }

    #[test]
    fn an_unknown_notification_passes_each_time() {
        let mut pending = PendingChanges::new(8);
        let news = |meta: &str| notification("notifications/vendor/news", meta);
        let named = r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}"#;
        for _ in 0..2 {
            pending.add(&news(named));
        }
        assert_eq!(rest(pending), [news("{}"), news("{}")]);
    }

    #[test]
    fn the_oldest_change_makes_way() {
        let mut pending = PendingChanges::new(2);
        for uri in 1..=3 {
            pending.add(&updated(uri, ""));
        }
        assert_eq!(rest(pending), [updated(2, ""), updated(3, "")]);
    }

    #[test]
    fn the_bytes_of_those_that_wait_are_limited() {
        let mut pending = PendingChanges::new(8);
        let large = |number: usize| {
            let text = "x".repeat(MAX_BYTES / 3);
            notification(
                "notifications/vendor/news",
                &format!(r#"{{"{number}":"{text}"}}"#),
            )
        };
        for number in 0..4 {
            pending.add(&large(number));
        }
        assert_eq!(rest(pending), [large(2), large(3)]);
    }

    #[test]
    fn after_a_gap_everything_may_have_changed() {
        let mut pending = PendingChanges::new(8);
        let mut all = SubscriptionFilter::default();
        all.tools_list_changed = Some(true);
        all.prompts_list_changed = Some(false);
        all.resource_subscriptions = Some(vec!["a:1".to_owned()]);
        pending.add_all(&all);
        assert_eq!(
            rest(pending),
            [
                notification("notifications/tools/list_changed", "{}"),
                updated(1, "")
            ]
        );
    }
}
