//! The methods of the protocol by name.

use std::borrow::Cow;
use std::fmt;

/// The name of a method; names this crate does not know pass as they are.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Method(Cow<'static, str>);

macro_rules! methods {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $text;)*

        /// The shared spelling of a known name.
        fn known(name: &str) -> Option<&'static str> {
            match name {
                $($text => Some($text),)*
                _ => None,
            }
        }
    };
}

methods! {
    /// Asks a server what it is and can do.
    SERVER_DISCOVER = "server/discover";
    /// Lists tools.
    TOOLS_LIST = "tools/list";
    /// Calls a tool.
    TOOLS_CALL = "tools/call";
    /// Lists resources.
    RESOURCES_LIST = "resources/list";
    /// Lists resource templates.
    RESOURCES_TEMPLATES_LIST = "resources/templates/list";
    /// Reads a resource.
    RESOURCES_READ = "resources/read";
    /// Lists prompts.
    PROMPTS_LIST = "prompts/list";
    /// Gets a prompt.
    PROMPTS_GET = "prompts/get";
    /// Completes an argument of a prompt or template.
    COMPLETION_COMPLETE = "completion/complete";
    /// Subscribes to changes for as long as the request lives.
    SUBSCRIPTIONS_LISTEN = "subscriptions/listen";
    /// Asks the user for input.
    ELICITATION_CREATE = "elicitation/create";
    /// Asks the client's model for a message.
    SAMPLING_CREATE_MESSAGE = "sampling/createMessage";
    /// Asks the client for its roots.
    ROOTS_LIST = "roots/list";
    /// Asks how a task is doing.
    TASKS_GET = "tasks/get";
    /// Gives a task the input it waits for.
    TASKS_UPDATE = "tasks/update";
    /// Asks a task to stop.
    TASKS_CANCEL = "tasks/cancel";
    /// Says that a request is no longer wanted.
    NOTIFICATIONS_CANCELLED = "notifications/cancelled";
    /// Says how far a request has come.
    NOTIFICATIONS_PROGRESS = "notifications/progress";
    /// Carries a log message.
    NOTIFICATIONS_MESSAGE = "notifications/message";
    /// Says that the list of tools changed.
    NOTIFICATIONS_TOOLS_LIST_CHANGED = "notifications/tools/list_changed";
    /// Says that the list of prompts changed.
    NOTIFICATIONS_PROMPTS_LIST_CHANGED = "notifications/prompts/list_changed";
    /// Says that the list of resources changed.
    NOTIFICATIONS_RESOURCES_LIST_CHANGED = "notifications/resources/list_changed";
    /// Says that a resource changed.
    NOTIFICATIONS_RESOURCES_UPDATED = "notifications/resources/updated";
    /// Says which part of a subscription the server honors.
    NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED = "notifications/subscriptions/acknowledged";
    /// Says that a task changed.
    NOTIFICATIONS_TASKS = "notifications/tasks";
}

impl Method {
    /// The method with this name; known names are not copied.
    #[must_use]
    pub fn new(name: &str) -> Self {
        match known(name) {
            Some(name) => Self(Cow::Borrowed(name)),
            None => Self(Cow::Owned(name.to_owned())),
        }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
