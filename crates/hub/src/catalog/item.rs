use std::sync::Arc;

use callgate_mcp::RawJson;
use callgate_mcp::wire::{Splice, method};

use crate::server::Server;

/// Tool, prompt, resource or template of a server, as agents see it.
pub(crate) struct Item {
    pub(crate) server: Arc<Server>,
    /// Exposed name, or URI.
    pub(crate) key: Arc<str>,
    /// The server's own name or URI.
    pub(crate) own: Arc<str>,
    /// The same as the server writes it, if it differs from the key: it goes into each call.
    pub(crate) own_json: Option<RawJson>,
    /// Definition under the exposed name.
    pub(crate) definition: RawJson,
    /// True if a call may be sent twice: the server says that it only reads or is idempotent.
    pub(crate) repeatable: bool,
}

/// Kind of list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ListKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

/// One value for each kind of list.
#[derive(Clone, Default)]
pub(crate) struct PerKind<T>([T; 4]);

impl<T> PerKind<T> {
    /// Makes the value of each kind.
    pub(crate) fn of(value: impl FnMut(ListKind) -> T) -> Self {
        Self(ListKind::ALL.map(value))
    }

    pub(crate) fn get(&self, kind: ListKind) -> &T {
        let [tools, prompts, resources, templates] = &self.0;
        match kind {
            ListKind::Tools => tools,
            ListKind::Prompts => prompts,
            ListKind::Resources => resources,
            ListKind::Templates => templates,
        }
    }

    pub(crate) fn set(&mut self, kind: ListKind, value: T) {
        *self.get_mut(kind) = value;
    }

    /// Takes the value of a kind, and leaves the default one.
    pub(crate) fn take(&mut self, kind: ListKind) -> T
    where
        T: Default,
    {
        std::mem::take(self.get_mut(kind))
    }

    fn get_mut(&mut self, kind: ListKind) -> &mut T {
        let [tools, prompts, resources, templates] = &mut self.0;
        match kind {
            ListKind::Tools => tools,
            ListKind::Prompts => prompts,
            ListKind::Resources => resources,
            ListKind::Templates => templates,
        }
    }
}

/// Key of `_meta` that says why an item cannot be used at the moment.
pub(crate) const UNAVAILABLE: &str = "callgate/unavailable";

impl ListKind {
    pub(crate) const ALL: [Self; 4] =
        [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    /// Method that lists items of this kind.
    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Tools => method::TOOLS_LIST,
            Self::Prompts => method::PROMPTS_LIST,
            Self::Resources => method::RESOURCES_LIST,
            Self::Templates => method::RESOURCES_TEMPLATES_LIST,
        }
    }

    /// Member of an item that identifies it.
    pub(crate) fn key_member(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }
}

impl Item {
    /// The item with this definition of a server, under the key `key`.
    pub(crate) fn new(
        server: &Arc<Server>,
        kind: ListKind,
        own: Arc<str>,
        key: Arc<str>,
        definition: &RawJson,
    ) -> Self {
        let repeatable = kind == ListKind::Tools && is_repeatable(definition);
        let (definition, own_json) = match key == own {
            true => (definition.clone(), None),
            false => (
                replace(definition, &[kind.key_member()], &key),
                definition.get(kind.key_member()),
            ),
        };
        Self {
            server: server.clone(),
            key,
            own,
            own_json,
            definition,
            repeatable,
        }
    }

    /// The same item of a server that is not connected, for this reason.
    pub(crate) fn unavailable(&self, reason: &str) -> Self {
        Self {
            server: self.server.clone(),
            key: self.key.clone(),
            own: self.own.clone(),
            own_json: self.own_json.clone(),
            definition: replace(&self.definition, &["_meta", UNAVAILABLE], reason),
            repeatable: self.repeatable,
        }
    }
}

/// Sets a member to a text; leaves an item alone whose shape does not allow it.
fn replace(item: &RawJson, path: &[&str], text: &str) -> RawJson {
    let edited = Splice::new(item).set(path, &RawJson::string(text)).finish();
    edited.unwrap_or_else(|_| item.clone())
}

/// True if the annotations of a tool allow to send a call again.
fn is_repeatable(tool: &RawJson) -> bool {
    let hints = tool.get("annotations");
    let hints = hints.map(|hints| hints.pick(["readOnlyHint", "idempotentHint"]));
    let is_true =
        |hint: &Option<RawJson>| hint.as_ref().is_some_and(|hint| hint.as_str() == "true");
    hints.is_some_and(|hints| hints.iter().any(is_true))
}
