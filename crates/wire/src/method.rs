//! Methods of the protocol: their names, and one table of their properties.

use std::borrow::Cow;
use std::fmt;

/// Name of a method; an unknown name is kept as it is.
///
/// The properties that transports, caches, hubs and policies decide by stand here once, for the
/// requests of revision 2026-07-28 and of its extensions for tasks and skills. Notifications, methods of older
/// revisions and unknown methods have the cautious value of every property: no input rounds, not a
/// list, not a subscription, no target, not cacheable, not repeatable.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Method(Cow<'static, str>);

macro_rules! methods {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $text;)*

        #[cfg(test)]
        const KNOWN: &[&str] = &[$($text),*];

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
    /// Asks a server for its versions, capabilities and instructions.
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
    /// Asks for the state of a task.
    TASKS_GET = "tasks/get";
    /// Gives a task the input it waits for.
    TASKS_UPDATE = "tasks/update";
    /// Asks a task to stop.
    TASKS_CANCEL = "tasks/cancel";
    /// Lists skills.
    SKILLS_LIST = "skills/list";
    /// Gets the entry of a skill.
    SKILLS_GET = "skills/get";
    /// Lists the files and folders in a folder.
    RESOURCES_DIRECTORY_READ = "resources/directory/read";
    /// Cancels a request.
    NOTIFICATIONS_CANCELLED = "notifications/cancelled";
    /// Reports the progress of a request.
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

    /// The name of a method that this crate knows, which lives as long as the program.
    #[must_use]
    pub fn known_name(&self) -> Option<&'static str> {
        match self.0 {
            Cow::Borrowed(name) => Some(name),
            Cow::Owned(_) => None,
        }
    }

    /// True if the result may be of the type `input_required`, which asks the client for input and
    /// is answered by the same request once more.
    #[must_use]
    pub fn may_ask_input(&self) -> bool {
        properties(self.as_str()).asks_input
    }

    /// Member of the result that holds the items of a paginated list; `None` if the method does not
    /// list anything page by page.
    #[must_use]
    pub fn list_member(&self) -> Option<&'static str> {
        properties(self.as_str()).list_member
    }

    /// True if the request stays open until one side ends it, and notifications are its content.
    #[must_use]
    pub fn is_subscription(&self) -> bool {
        self.as_str() == SUBSCRIPTIONS_LISTEN
    }

    /// Member of the params that names the tool, prompt, resource or task which the request is for.
    ///
    /// The HTTP header [`NAME`](crate::header::NAME) carries the same value.
    #[must_use]
    pub fn target_member(&self) -> Option<&'static str> {
        properties(self.as_str()).target_member
    }

    /// True if the result says for how long and for whom it may be cached (`ttlMs`, `cacheScope`).
    #[must_use]
    pub fn is_cacheable(&self) -> bool {
        properties(self.as_str()).cacheable
    }

    /// True if the request only reads, so that sending it again after a lost connection cannot do
    /// anything twice.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        properties(self.as_str()).repeatable
    }
}

/// Row of the table of methods.
#[derive(Clone, Copy)]
struct Properties {
    asks_input: bool,
    list_member: Option<&'static str>,
    target_member: Option<&'static str>,
    cacheable: bool,
    repeatable: bool,
}

/// The table of methods. Source: "Methods" and "Server Features" of revision 2026-07-28,
/// "Multi Round-Trip Requests" for `input_required`, "Caching" for cacheable results, "Streamable
/// HTTP" for the target, and the extensions for tasks and skills.
fn properties(name: &str) -> Properties {
    match name {
        TOOLS_CALL => Properties {
            asks_input: true,
            ..Properties::ACTION.on("name")
        },
        PROMPTS_GET => Properties {
            asks_input: true,
            ..Properties::READ.on("name")
        },
        RESOURCES_READ => Properties {
            asks_input: true,
            cacheable: true,
            ..Properties::READ.on("uri")
        },
        TOOLS_LIST => Properties::list("tools"),
        PROMPTS_LIST => Properties::list("prompts"),
        RESOURCES_LIST => Properties::list("resources"),
        RESOURCES_TEMPLATES_LIST => Properties::list("resourceTemplates"),
        SKILLS_LIST => Properties::list("skills"),
        // The extension names no header for its URI, so it is no target.
        SERVER_DISCOVER | SKILLS_GET => Properties {
            cacheable: true,
            ..Properties::READ
        },
        RESOURCES_DIRECTORY_READ => Properties {
            cacheable: false,
            ..Properties::list("resources")
        },
        TASKS_GET => Properties::READ.on("taskId"),
        // Both change the task: an answer or a cancellation that arrives late could meet a task
        // that has moved on, so the sender of the first one decides about a second.
        TASKS_UPDATE | TASKS_CANCEL => Properties::ACTION.on("taskId"),
        // A lost subscription is resumed by opening it again.
        // `roots/list` is answered in one piece, so it is not a paginated list.
        COMPLETION_COMPLETE | SUBSCRIPTIONS_LISTEN | ROOTS_LIST => Properties::READ,
        _ => Properties::ACTION,
    }
}

impl Properties {
    /// Possible side effects, and nothing else known.
    const ACTION: Self = Self {
        asks_input: false,
        list_member: None,
        target_member: None,
        cacheable: false,
        repeatable: false,
    };

    const READ: Self = Self {
        repeatable: true,
        ..Self::ACTION
    };

    const fn list(member: &'static str) -> Self {
        Self {
            list_member: Some(member),
            cacheable: true,
            ..Self::READ
        }
    }

    const fn on(self, member: &'static str) -> Self {
        Self {
            target_member: Some(member),
            ..self
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Name, input rounds, list member, target, cacheable, repeatable.
    type Row = (
        &'static str,
        bool,
        Option<&'static str>,
        Option<&'static str>,
        bool,
        bool,
    );

    const ROWS: &[Row] = &[
        ("server/discover", false, None, None, true, true),
        ("tools/list", false, Some("tools"), None, true, true),
        ("tools/call", true, None, Some("name"), false, false),
        ("resources/list", false, Some("resources"), None, true, true),
        (
            "resources/templates/list",
            false,
            Some("resourceTemplates"),
            None,
            true,
            true,
        ),
        ("resources/read", true, None, Some("uri"), true, true),
        ("prompts/list", false, Some("prompts"), None, true, true),
        ("prompts/get", true, None, Some("name"), false, true),
        ("completion/complete", false, None, None, false, true),
        ("subscriptions/listen", false, None, None, false, true),
        ("roots/list", false, None, None, false, true),
        ("tasks/get", false, None, Some("taskId"), false, true),
        ("tasks/update", false, None, Some("taskId"), false, false),
        ("tasks/cancel", false, None, Some("taskId"), false, false),
        ("skills/list", false, Some("skills"), None, true, true),
        ("skills/get", false, None, None, true, true),
        (
            "resources/directory/read",
            false,
            Some("resources"),
            None,
            false,
            true,
        ),
    ];

    #[test]
    fn every_method_has_the_properties_of_the_specification() {
        let cautious = (false, None, None, false, false);
        let others = [
            "tools/callx",
            "tools",
            "",
            "TOOLS/LIST",
            "acme/search",
            "ping",
            "tasks/list",
        ];
        for name in KNOWN.iter().chain(&others) {
            let method = Method::new(name);
            let found = (
                method.may_ask_input(),
                method.list_member(),
                method.target_member(),
                method.is_cacheable(),
                method.is_repeatable(),
            );
            let row = ROWS.iter().find(|row| row.0 == *name);
            let expect = row.map_or(cautious, |row| (row.1, row.2, row.3, row.4, row.5));
            assert_eq!(found, expect, "{name}");
            assert_eq!(
                method.is_subscription(),
                *name == "subscriptions/listen",
                "{name}"
            );
        }
        assert!(ROWS.iter().all(|row| KNOWN.contains(&row.0)));
    }
}
