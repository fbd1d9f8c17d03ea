//! The methods that 2026-07-28 no longer has.

use crate::Method;

/// Opens a connection.
pub const INITIALIZE: &str = "initialize";
/// Checks that the other side is there.
pub const PING: &str = "ping";
/// Sets the lowest level of log messages to send.
pub const LOGGING_SET_LEVEL: &str = "logging/setLevel";
/// Subscribes to changes of a resource.
pub const RESOURCES_SUBSCRIBE: &str = "resources/subscribe";
/// Ends a subscription to changes of a resource.
pub const RESOURCES_UNSUBSCRIBE: &str = "resources/unsubscribe";
/// Waits for the result of a task.
pub const TASKS_RESULT: &str = "tasks/result";
/// Lists tasks.
pub const TASKS_LIST: &str = "tasks/list";
/// Says that the connection is open.
pub const NOTIFICATIONS_INITIALIZED: &str = "notifications/initialized";
/// Says that the list of roots changed.
pub const NOTIFICATIONS_ROOTS_LIST_CHANGED: &str = "notifications/roots/list_changed";
/// Says that the user is done with a URL.
pub const NOTIFICATIONS_ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";
/// Says that a task changed.
pub const NOTIFICATIONS_TASKS_STATUS: &str = "notifications/tasks/status";

/// True for a notification of a client about the connection that it came by: its handshake, its requests and
/// the questions on it. It means nothing on another connection.
#[must_use]
pub fn is_about_connection(method: &Method) -> bool {
    matches!(
        method.as_str(),
        NOTIFICATIONS_INITIALIZED
            | NOTIFICATIONS_ROOTS_LIST_CHANGED
            | crate::method::NOTIFICATIONS_CANCELLED
            | crate::method::NOTIFICATIONS_PROGRESS
    )
}

/// True for the method that opens a session, and so changes the meaning of a whole connection.
#[must_use]
pub fn opens_session(method: &Method) -> bool {
    method.as_str() == INITIALIZE
}
