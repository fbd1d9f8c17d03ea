use callgate_wire::resource::ResourceUpdatedParams;
use callgate_wire::task::{DetailedTask, TaskNotificationParams};
use callgate_wire::{Notification, method};

use super::cache::Stale;

/// What a [`Subscription`](super::Subscription) tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The list of tools changed.
    ToolsListChanged,
    /// The list of prompts changed.
    PromptsListChanged,
    /// The lists of resources and templates changed.
    ResourcesListChanged,
    /// A resource changed: the one subscribed to, or one below it.
    ResourceUpdated {
        /// The resource that changed.
        uri: String,
    },
    /// A task changed.
    Task(DetailedTask),
    /// Events may have been missed: whatever matters has to be fetched again.
    Gap,
    /// Something that this crate does not know.
    Other(Notification),
}

impl Event {
    /// What a notification on a subscription says. One that cannot be read is a gap.
    pub(super) fn of(notification: Notification) -> Self {
        let params = &notification.params;
        match notification.method.as_str() {
            method::NOTIFICATIONS_TOOLS_LIST_CHANGED => Self::ToolsListChanged,
            method::NOTIFICATIONS_PROMPTS_LIST_CHANGED => Self::PromptsListChanged,
            method::NOTIFICATIONS_RESOURCES_LIST_CHANGED => Self::ResourcesListChanged,
            method::NOTIFICATIONS_RESOURCES_UPDATED => params
                .decode()
                .map_or(Self::Gap, |updated: ResourceUpdatedParams| {
                    Self::ResourceUpdated { uri: updated.uri }
                }),
            method::NOTIFICATIONS_TASKS => params
                .decode()
                .map_or(Self::Gap, |changed: TaskNotificationParams| {
                    Self::Task(changed.task)
                }),
            _ => Self::Other(notification),
        }
    }

    /// What has to be fetched again.
    pub(super) fn stale(&self) -> Option<Stale<'_>> {
        match self {
            Self::ToolsListChanged => Some(Stale::Tools),
            Self::PromptsListChanged => Some(Stale::Prompts),
            Self::ResourcesListChanged => Some(Stale::Resources),
            Self::ResourceUpdated { uri } => Some(Stale::Resource(uri)),
            Self::Gap => Some(Stale::All),
            Self::Task(_) | Self::Other(_) => None,
        }
    }
}
