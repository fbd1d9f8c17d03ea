use std::collections::HashSet;
use std::sync::Arc;

use callgate_mcp::wire::discover::DiscoverResult;
use callgate_mcp::{RawJson, Version};

use super::definitions::SeenDefinitions;
use super::item::{Item, ListKind, PerKind};
use super::saved::{self, SavedCatalogError};
use crate::server::Server;

/// Lists of one server.
pub(super) struct Offer {
    pub(super) server: Arc<Server>,
    /// Description of the server by itself.
    pub(super) discovered: Option<DiscoverResult>,
    /// Revision that the server spoke when it was connected last.
    pub(super) version: Option<Version>,
    /// The lists as the server sent them; `None` for one that was never read.
    sent: PerKind<Option<Vec<RawJson>>>,
    /// The items that callers are offered.
    lists: PerKind<Vec<Arc<Item>>>,
    /// The reason why the items cannot be used at the moment, and the same items with it. Made once, so
    /// that a change at another server reads none of them.
    unavailable: Option<(String, PerKind<Vec<Arc<Item>>>)>,
    /// True while callers see nothing of the server: it is turned off, or away for too long.
    pub(super) is_hidden: bool,
    definitions: SeenDefinitions,
    /// True once every list of the server was read or could not be, now or before the catalog was saved.
    pub(super) is_complete: bool,
    /// True if the catalog differs from the one that the owner keeps.
    pub(super) is_unsaved: bool,
}

impl Offer {
    pub(super) fn new(server: Arc<Server>) -> Self {
        Self {
            server,
            discovered: None,
            version: None,
            sent: PerKind::default(),
            lists: PerKind::default(),
            unavailable: None,
            is_hidden: false,
            definitions: SeenDefinitions::default(),
            is_complete: false,
            is_unsaved: false,
        }
    }

    pub(super) fn is_of(&self, server: &Server) -> bool {
        std::ptr::eq(&*self.server, server)
    }

    /// The items of a kind that callers are offered while the server is connected.
    pub(super) fn list(&self, kind: ListKind) -> &[Arc<Item>] {
        self.lists.get(kind)
    }

    /// The items of a kind as callers see them now.
    pub(super) fn visible(&self, kind: ListKind) -> &[Arc<Item>] {
        match self.is_hidden {
            true => &[],
            false => {
                let marked = self.unavailable.as_ref().map(|(_, lists)| lists);
                marked.unwrap_or(&self.lists).get(kind)
            }
        }
    }

    /// Kinds of which the server has items.
    pub(super) fn kinds(&self) -> Vec<ListKind> {
        let has_items = |kind: &ListKind| !self.list(*kind).is_empty();
        ListKind::ALL.into_iter().filter(has_items).collect()
    }

    /// True if the server sent exactly this list before.
    pub(super) fn has_sent(&self, kind: ListKind, sent: &[RawJson]) -> bool {
        self.sent.get(kind).as_deref() == Some(sent)
    }

    /// Replaces a list: what the server sent, and the items that callers are offered of it. Returns
    /// false if callers see no difference: there was no item and there is none.
    pub(super) fn set_list(
        &mut self,
        kind: ListKind,
        sent: Vec<RawJson>,
        items: Vec<Arc<Item>>,
    ) -> bool {
        let is_visible = !(self.list(kind).is_empty() && items.is_empty());
        self.sent.set(kind, Some(sent));
        self.lists.set(kind, items);
        self.is_unsaved = true;
        is_visible
    }

    /// Records the definitions of the tools, and reports those that are no longer what they were.
    pub(super) fn record_definitions(&mut self, tools: &[(Arc<str>, RawJson)]) {
        let tools = tools.iter().map(|(own, sent)| (own, sent));
        for tool in self.definitions.record(tools) {
            tracing::warn!(server = %self.server.name(), %tool, "a server changed the definition of a tool");
        }
    }

    /// Names of the tools whose definition changed.
    pub(super) fn changed_tools(&self) -> Vec<Arc<str>> {
        self.definitions.changed().cloned().collect()
    }

    /// Marks the items as unavailable for this reason, or as available. Returns false if they are so
    /// already.
    pub(super) fn set_unavailable(&mut self, reason: Option<&str>) -> bool {
        let current = self.unavailable.as_ref().map(|(reason, _)| reason.as_str());
        if current == reason {
            return false;
        }
        self.unavailable = reason.map(|reason| {
            let lists = PerKind::of(|kind| {
                let marked = |item: &Arc<Item>| Arc::new(item.unavailable(reason));
                self.list(kind).iter().map(marked).collect()
            });
            (reason.to_owned(), lists)
        });
        true
    }

    /// The catalog in the form that its owner keeps; `None` if there is nothing to keep.
    ///
    /// `outranked` are the tools that lost their plain names to others.
    pub(super) fn to_saved(
        &self,
        key: &str,
        outranked: &[Arc<str>],
    ) -> Option<Result<RawJson, SavedCatalogError>> {
        let discovered = self.discovered.as_ref()?;
        if ListKind::ALL
            .iter()
            .all(|kind| self.sent.get(*kind).is_none())
        {
            return None;
        }
        let (version, sent) = (self.version, &self.sent);
        Some(saved::encode(key, version, discovered, sent, outranked))
    }
}

/// The items of a list with the server's own name for each; items without a name, or with one that
/// occurred before, are left out.
pub(super) fn own_names(
    server: &Server,
    kind: ListKind,
    sent: &[RawJson],
) -> Vec<(Arc<str>, RawJson)> {
    let mut seen = HashSet::new();
    let mut named = Vec::with_capacity(sent.len());
    for item in sent {
        let own = item.get(kind.key_member());
        let own: Option<Arc<str>> = own.and_then(|own| Some(Arc::from(&*own.text()?)));
        match own {
            Some(own) if seen.insert(own.clone()) => named.push((own, item.clone())),
            own => {
                tracing::warn!(server = %server.name(), ?kind, name = ?own, "an item without a name of its own is left out");
            }
        }
    }
    named
}
