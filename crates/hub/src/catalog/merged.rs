use std::collections::HashSet;
use std::sync::Arc;

use callgate_mcp::subscribers::{ServerChange, Subscribers};
use callgate_mcp::wire::discover::DiscoverResult;
use callgate_mcp::{Implementation, RawJson, Version};
use tokio::sync::watch;

use super::item::{Item, ListKind};
use super::offer::{Offer, own_names};
use super::snapshot::Snapshot;
use super::{discover, saved};
use crate::exposed_names::{ExposedNames, Naming, Origin, Scheme};
use crate::mutex::Mutex;
use crate::server::Server;
use crate::server_config::ItemNames;
use crate::server_name::ServerName;

/// Catalog of all servers, merged into one [`Snapshot`] after every change.
pub(crate) struct Catalog {
    info: Implementation,
    state: Mutex<CatalogState>,
    snapshot: watch::Sender<Arc<Snapshot>>,
    /// The same without private servers.
    shared: watch::Sender<Arc<Snapshot>>,
    /// Subscribers to changes of the merged lists.
    pub(crate) subscribers: Subscribers,
}

/// Selection of the servers that a caller sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selection {
    All,
    /// Those that are not [private](crate::ServerConfig::private).
    Shared,
}

/// Beginning of the address of a resource by its server: `mcp://server/uri`.
pub(crate) const ADDRESS: &str = "mcp://";

struct CatalogState {
    /// In the order of the configuration.
    offers: Vec<Offer>,
    tool_names: ExposedNames,
    prompt_names: ExposedNames,
}

/// Names of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolNames {
    /// The name that callers use.
    pub exposed: Arc<str>,
    /// The name that the server or its policy gives.
    pub own: Arc<str>,
    /// The name that callers use where `exposed` would belong to another tool, as in a hub with more
    /// servers.
    pub hashed: Arc<str>,
}

/// Facts about the catalog of one server, for its status.
#[derive(Default)]
pub(crate) struct CatalogSummary {
    /// Number of items that callers see, by kind.
    pub(crate) counts: [usize; 4],
    pub(crate) info: Option<Implementation>,
    pub(crate) instructions: Option<String>,
    pub(crate) changed_tools: Vec<Arc<str>>,
}

impl Catalog {
    pub(crate) fn new(info: Implementation, naming: Naming) -> Self {
        let catalog = Self {
            info,
            state: Mutex::new(CatalogState {
                offers: Vec::new(),
                tool_names: ExposedNames::new(Scheme::Tool(naming)),
                prompt_names: ExposedNames::new(Scheme::Prompt),
            }),
            snapshot: watch::Sender::default(),
            shared: watch::Sender::default(),
            subscribers: Subscribers::default(),
        };
        catalog.publish_discovered(&catalog.state.lock());
        catalog
    }

    pub(crate) fn snapshot(&self, selection: Selection) -> Arc<Snapshot> {
        self.sender(selection).borrow().clone()
    }

    /// The snapshot now and later.
    pub(crate) fn follow(&self, selection: Selection) -> watch::Receiver<Arc<Snapshot>> {
        self.sender(selection).subscribe()
    }

    /// Adds a server at the end of the order, with the catalog that its owner kept.
    ///
    /// A kept catalog that cannot be used is ignored: the server is asked anyway.
    pub(crate) fn add(&self, server: &Arc<Server>, kept: Option<Vec<u8>>) {
        let key = server.config.catalog_key.as_deref().unwrap_or_default();
        // Without the lock of the catalog, because there may be megabytes to read.
        let kept = kept.and_then(|bytes| {
            let error = match saved::decode(bytes, key) {
                Ok(kept) => return Some(kept),
                Err(error) => error,
            };
            tracing::warn!(server = %server.name(), reason = %error, "the saved catalog of a server is ignored");
            None
        });
        let mut state = self.state.lock();
        let mut offer = Offer::new(server.clone());
        offer.is_hidden = !server.config.enabled;
        state.offers.push(offer);
        let Some(mut kept) = kept else {
            return self.publish_discovered(&state);
        };
        // Before the lists, whose names depend on it.
        for item in &kept.outranked {
            state.tool_names.outrank(Origin {
                server: server.name().clone(),
                item: item.clone(),
            });
        }
        for kind in ListKind::ALL {
            if let Some(list) = kept.lists.take(kind) {
                // Callers have seen these names: they stay, whatever servers were added since.
                state.set_list(server, kind, list, &[]);
            }
        }
        let is_outranked_anew = state.tool_names.outranked(server.name()) != kept.outranked;
        let kinds = match state.offer(server) {
            Some(offer) => {
                offer.discovered = Some(kept.discovered);
                offer.version = kept.version;
                offer.is_complete = true;
                // The lists that were just set are those that the owner keeps already.
                offer.is_unsaved = is_outranked_anew;
                offer.kinds()
            }
            None => Vec::new(),
        };
        self.publish_discovered(&state);
        self.publish_lists(&state, &kinds);
    }

    /// Removes a server and all its items.
    pub(crate) fn remove(&self, server: &Server) {
        let mut state = self.state.lock();
        state.offers.retain(|offer| !offer.is_of(server));
        state.tool_names.retain(server.name(), |_| false);
        state.prompt_names.retain(server.name(), |_| false);
        self.publish_discovered(&state);
        self.publish_lists(&state, &ListKind::ALL);
    }

    pub(crate) fn summary(&self, server: &Server) -> CatalogSummary {
        let mut state = self.state.lock();
        let Some(offer) = state.offer(server) else {
            return CatalogSummary::default();
        };
        let discovered = offer.discovered.as_ref();
        let meta = discovered.and_then(|discovered| discovered.meta.as_ref());
        CatalogSummary {
            counts: ListKind::ALL.map(|kind| offer.visible(kind).len()),
            info: meta.and_then(|meta| meta.server_info().ok().flatten()),
            instructions: discovered.and_then(|discovered| discovered.instructions.clone()),
            changed_tools: offer.changed_tools(),
        }
    }

    /// The names of the tools of a server.
    pub(crate) fn tool_names(&self, server: &Server) -> Vec<ToolNames> {
        let state = self.state.lock();
        let Some(offer) = state.offers.iter().find(|offer| offer.is_of(server)) else {
            return Vec::new();
        };
        let (policy, names) = (&server.config.tools, server.config.item_names);
        let tools = offer.visible(ListKind::Tools).iter().map(|item| {
            let renamed = policy.change(&item.own).and_then(|it| it.name.as_deref());
            let own = renamed.map_or_else(|| item.own.clone(), Arc::from);
            let origin = Origin {
                server: server.name().clone(),
                item: item.own.clone(),
            };
            ToolNames {
                exposed: item.key.clone(),
                hashed: Arc::from(state.tool_names.hashed_as(&origin, &own, names)),
                own,
            }
        });
        tools.collect()
    }

    /// Records the description of a server by itself, and the revision that it speaks.
    pub(crate) fn set_discovered(
        &self,
        server: &Server,
        discovered: DiscoverResult,
        version: Option<Version>,
    ) {
        let mut state = self.state.lock();
        let Some(offer) = state.offer(server) else {
            return;
        };
        if offer.version != version {
            offer.version = version;
            offer.is_unsaved = true;
        }
        if offer.discovered.as_ref() == Some(&discovered) {
            return;
        }
        offer.discovered = Some(discovered);
        offer.is_unsaved = true;
        self.publish_discovered(&state);
    }

    /// Replaces a list of a server, and tells the subscribers if it differs.
    pub(crate) fn set_list(&self, server: &Arc<Server>, kind: ListKind, sent: Vec<RawJson>) {
        let mut state = self.state.lock();
        let rivals = state.rivals(server, kind);
        if state.set_list(server, kind, sent, &rivals) {
            self.publish_lists(&state, &[kind]);
        }
    }

    /// Records that every list of a server was read, or could not be.
    pub(crate) fn set_complete(&self, server: &Server) {
        if let Some(offer) = self.state.lock().offer(server) {
            offer.is_complete = true;
        }
    }

    /// Marks the items of a server as unavailable for this reason, or as available again.
    pub(crate) fn set_unavailable(&self, server: &Server, reason: Option<&str>) {
        let mut state = self.state.lock();
        let Some(offer) = state.offer(server) else {
            return;
        };
        if offer.set_unavailable(reason) && !offer.is_hidden {
            let kinds = offer.kinds();
            self.publish_lists(&state, &kinds);
        }
    }

    /// Hides the items of a server that is turned off or has been away for too long, or shows them.
    pub(crate) fn set_hidden(&self, server: &Server, is_hidden: bool) {
        let mut state = self.state.lock();
        let Some(offer) = state.offer(server) else {
            return;
        };
        if offer.is_hidden == is_hidden {
            return;
        }
        offer.is_hidden = is_hidden;
        let kinds = offer.kinds();
        self.publish_discovered(&state);
        self.publish_lists(&state, &kinds);
    }

    /// The catalogs that differ from what their owner keeps, each once: server, key and bytes.
    pub(crate) fn take_unsaved(&self) -> Vec<(Arc<Server>, Arc<str>, RawJson)> {
        let mut state = self.state.lock();
        let CatalogState {
            offers, tool_names, ..
        } = &mut *state;
        let mut unsaved = Vec::new();
        for offer in offers {
            let Some(key) = offer.server.config.catalog_key.clone() else {
                continue;
            };
            // A list that was not read yet would be missing in the saved catalog.
            if !offer.is_unsaved || !offer.is_complete {
                continue;
            }
            // Even if it cannot be saved: another attempt would fail in the same way.
            offer.is_unsaved = false;
            let outranked = tool_names.outranked(offer.server.name());
            match offer.to_saved(&key, &outranked) {
                Some(Ok(bytes)) => unsaved.push((offer.server.clone(), key, bytes)),
                Some(Err(error)) => {
                    tracing::warn!(server = %offer.server.name(), reason = %error, "the catalog of a server is not saved");
                }
                None => {}
            }
        }
        unsaved
    }

    /// Merges the lists of these kinds, and tells the subscribers that they changed.
    fn publish_lists(&self, state: &CatalogState, kinds: &[ListKind]) {
        if kinds.is_empty() {
            return;
        }
        self.publish(state, |snapshot, selection| {
            let items = |kind| {
                let offers = state.selected(selection);
                let items = offers.flat_map(|offer| offer.visible(kind));
                items.cloned().collect()
            };
            snapshot.with_lists(kinds, items)
        });
        // After the snapshot: a subscriber reads the list as soon as it is told.
        for kind in kinds {
            self.subscribers.publish(&match kind {
                ListKind::Tools => ServerChange::Tools,
                ListKind::Prompts => ServerChange::Prompts,
                ListKind::Resources | ListKind::Templates => ServerChange::Resources,
            });
        }
    }

    /// Merges the descriptions of the servers by themselves.
    fn publish_discovered(&self, state: &CatalogState) {
        self.publish(state, |snapshot, selection| {
            let selected = || state.selected(selection);
            let visible = selected().filter(|offer| !offer.is_hidden);
            let discovered = visible.filter_map(|offer| {
                let discovered = offer.discovered.as_ref()?;
                Some((offer.server.name(), discovered))
            });
            let discovered = discover::merge(&self.info, discovered);
            let is_absent = |offer: &&Offer| offer.discovered.is_none() || offer.is_hidden;
            let absent = selected().filter(is_absent);
            let absent = absent.map(|offer| offer.server.clone()).collect();
            snapshot.with_discovered(discovered, absent)
        });
    }

    /// Replaces the snapshot of each selection by a later one.
    fn publish(&self, state: &CatalogState, later: impl Fn(&Snapshot, Selection) -> Snapshot) {
        let all = Arc::new(later(&self.snapshot(Selection::All), Selection::All));
        let has_private = state.offers.iter().any(|offer| offer.server.config.private);
        let shared = match has_private {
            true => Arc::new(later(&self.snapshot(Selection::Shared), Selection::Shared)),
            // Most hubs have no private server: nothing is merged or kept twice.
            false => all.clone(),
        };
        // The caller holds the lock of the state, so that snapshots follow each other as the changes did.
        self.snapshot.send_replace(all);
        self.shared.send_replace(shared);
    }

    fn sender(&self, selection: Selection) -> &watch::Sender<Arc<Snapshot>> {
        match selection {
            Selection::All => &self.snapshot,
            Selection::Shared => &self.shared,
        }
    }
}

impl Selection {
    /// True if the server belongs to the selection.
    pub(crate) fn has(self, server: &Server) -> bool {
        self == Self::All || !server.config.private
    }
}

impl CatalogState {
    fn selected(&self, selection: Selection) -> impl Iterator<Item = &Offer> {
        let offers = self.offers.iter();
        offers.filter(move |offer| selection.has(&offer.server))
    }

    fn offer(&mut self, server: &Server) -> Option<&mut Offer> {
        self.offers.iter_mut().find(|offer| offer.is_of(server))
    }

    /// Servers that may have items with the plain names of new items of this one.
    fn rivals(&self, server: &Server, kind: ListKind) -> Vec<ServerName> {
        // The names of prompts are not kept across starts.
        if kind != ListKind::Tools {
            return Vec::new();
        }
        let others = self.offers.iter().map(|offer| &offer.server.config);
        let others = others.filter(|it| it.item_names == ItemNames::WithServer);
        let others = others.map(|it| &it.name);
        let rivals = others.chain(&server.config.neighbors);
        rivals.filter(|it| *it != server.name()).cloned().collect()
    }

    /// Replaces a list of a server; `rivals` are other servers, whose tools may have the names of new ones of this.
    /// Returns false if callers see no difference.
    fn set_list(
        &mut self,
        server: &Arc<Server>,
        kind: ListKind,
        sent: Vec<RawJson>,
        rivals: &[ServerName],
    ) -> bool {
        let taken = self.taken_uris(server, kind);
        let reserved = self.reserved_addresses(server);
        let Self {
            offers,
            tool_names,
            prompt_names,
        } = self;
        let offer = offers.iter_mut().find(|offer| offer.is_of(server));
        let Some(offer) = offer.filter(|offer| !offer.has_sent(kind, &sent)) else {
            return false;
        };
        let named = own_names(server, kind, &sent);
        let kept: HashSet<&str> = named.iter().map(|(own, _)| &**own).collect();
        match kind {
            ListKind::Tools => {
                tool_names.retain(server.name(), |own| kept.contains(own));
                offer.record_definitions(&named);
            }
            ListKind::Prompts => prompt_names.retain(server.name(), |own| kept.contains(own)),
            ListKind::Resources | ListKind::Templates => {}
        }
        let (policy, names) = (&server.config.tools, server.config.item_names);
        let origin = |own: &Arc<str>| Origin {
            server: server.name().clone(),
            item: own.clone(),
        };
        let label = |own: &str| policy.change(own).and_then(|it| it.name.as_deref());
        if kind == ListKind::Tools {
            // A tool whose name can stand as it is has the plain name, in whatever order the server lists.
            for (own, _) in named.iter().filter(|(own, _)| policy.offers(own)) {
                let label = label(own).unwrap_or(own);
                if tool_names.is_exact(label) {
                    tool_names.name_as(&origin(own), label, names, rivals);
                }
            }
        }
        let item = |(own, sent): (Arc<str>, RawJson)| {
            let (key, definition) = match kind {
                ListKind::Tools if !policy.offers(&own) => return None,
                ListKind::Tools => {
                    let label = label(&own).unwrap_or(&own);
                    let key = tool_names.name_as(&origin(&own), label, names, rivals);
                    let change = policy.change(&own);
                    (key, change.map(|change| change.definition(&sent)))
                }
                ListKind::Prompts => {
                    let key = prompt_names.name_as(&origin(&own), &own, names, rivals);
                    (key, None)
                }
                // A URI that another server lists too, or that would be the address of a resource of another server,
                // is addressed by its server.
                _ if taken.contains(&own) || reserved.iter().any(|it| own.starts_with(it)) => {
                    let address = format!("{ADDRESS}{}/{own}", server.name());
                    (Arc::from(address), None)
                }
                _ => (own.clone(), None),
            };
            let definition = definition.unwrap_or(sent);
            Some(Arc::new(Item::new(server, kind, own, key, &definition)))
        };
        let items = named.into_iter().filter_map(item).collect();
        offer.set_list(kind, sent, items)
    }

    /// Beginnings of the URIs that a server cannot list as they are: they are addresses, which would then mean a
    /// resource of this server, whatever server they name.
    fn reserved_addresses(&self, server: &Server) -> Vec<String> {
        match server.config.item_names {
            ItemNames::WithServer => vec![ADDRESS.to_owned()],
            // Another hub lists addresses of its servers, which are reached through it alone. Those of servers that
            // are here too belong to them.
            ItemNames::Own => {
                let servers = self.offers.iter().map(|offer| offer.server.name());
                servers.map(|name| format!("{ADDRESS}{name}/")).collect()
            }
        }
    }

    /// URIs that other servers list.
    fn taken_uris(&self, server: &Server, kind: ListKind) -> HashSet<Arc<str>> {
        match kind {
            ListKind::Resources | ListKind::Templates => {
                let others = self.offers.iter().filter(|offer| !offer.is_of(server));
                let items = others.flat_map(|offer| offer.list(kind));
                items.map(|item| item.key.clone()).collect()
            }
            ListKind::Tools | ListKind::Prompts => HashSet::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_config::ServerConfig;
    use callgate_mcp::{Error, Kind, Reply};

    fn server(number: usize) -> Arc<Server> {
        let connector = || Err(Error::new(Kind::Connect, "not in this test"));
        let name = ServerName::new(&format!("server{number}")).unwrap();
        Arc::new(Server::new(ServerConfig::new(name, Arc::new(connector))))
    }

    fn tools(count: usize) -> Vec<RawJson> {
        let tool = |tool| format!(r#"{{"name":"tool{tool}","inputSchema":{{"type":"object"}}}}"#);
        let parse = |tool: String| serde_json::from_str(&tool).unwrap();
        (0..count).map(tool).map(parse).collect()
    }

    fn catalog(servers: usize, tools_each: usize) -> (Catalog, Vec<Arc<Server>>) {
        let catalog = Catalog::new(Implementation::new("hub", "1"), Naming::default());
        let servers: Vec<_> = (0..servers).map(server).collect();
        for server in &servers {
            catalog.add(server, None);
            catalog.set_list(server, ListKind::Tools, tools(tools_each));
        }
        (catalog, servers)
    }

    /// Address of the definition of each tool, by its name.
    fn definitions(catalog: &Catalog) -> Vec<(Arc<str>, *const u8)> {
        let snapshot = catalog.snapshot(Selection::All);
        let items = snapshot.list(ListKind::Tools).items().iter();
        items
            .map(|item| (item.key.clone(), item.definition.as_bytes().as_ptr()))
            .collect()
    }

    /// Address of the result of a list request.
    fn listed(catalog: &Catalog) -> (usize, *const u8) {
        let snapshot = catalog.snapshot(Selection::All);
        let page = snapshot.list(ListKind::Tools).page("tools", None).unwrap();
        let Reply::Complete(page) = page else {
            panic!("{page:?}");
        };
        (page.as_bytes().len(), page.as_bytes().as_ptr())
    }

    #[test]
    fn merging_5000_tools_of_100_servers_makes_none_of_them_anew() {
        let (catalog, servers) = catalog(100, 50);
        let before = definitions(&catalog);
        assert_eq!(before.len(), 5_000);
        // A change at one server: the definitions of all others are the same bytes at the same place,
        // so they were neither read nor written.
        catalog.set_list(&servers[0], ListKind::Tools, tools(51));
        let after = definitions(&catalog);
        assert_eq!(after.len(), 5_001);
        assert_eq!(after[51..], before[50..]);
    }

    #[test]
    fn a_list_is_served_without_copying_it_however_long_it_is() {
        for tools_each in [1, 500] {
            let (catalog, servers) = catalog(10, tools_each);
            let first = listed(&catalog);
            assert_eq!(listed(&catalog), first);
            // Other lists change without it, and a list that is sent again changes nothing.
            catalog.set_list(&servers[3], ListKind::Prompts, tools(1));
            catalog.set_list(&servers[3], ListKind::Tools, tools(tools_each));
            assert_eq!(listed(&catalog), first);
        }
    }
}
