use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use callgate_mcp::subscribers::{ServerChange, Subscribers};
use callgate_mcp::wire::discover::DiscoverResult;
use callgate_mcp::{Implementation, RawJson};
use tokio::sync::watch;

use super::discover;
use super::item::{Item, ListKind, PerKind};
use super::snapshot::Snapshot;
use crate::exposed_names::{ExposedNames, Naming, Origin, Scheme};
use crate::mutex::Mutex;
use crate::server::Server;

/// Catalog of all servers, merged into one [`Snapshot`] after every change.
pub(crate) struct Catalog {
    info: Implementation,
    state: Mutex<CatalogState>,
    snapshot: watch::Sender<Arc<Snapshot>>,
    /// Subscribers to changes of the merged lists.
    pub(crate) subscribers: Subscribers,
}

struct CatalogState {
    /// In the order of the configuration.
    offers: Vec<Offer>,
    tool_names: ExposedNames,
    prompt_names: ExposedNames,
}

/// Lists of one server.
struct Offer {
    server: Arc<Server>,
    discovered: Option<DiscoverResult>,
    lists: PerKind<Vec<Arc<Item>>>,
    /// The same items with the reason why they cannot be used at the moment. Made once, so that a
    /// change at another server reads none of them.
    unavailable: Option<PerKind<Vec<Arc<Item>>>>,
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
            subscribers: Subscribers::default(),
        };
        catalog.publish(&catalog.state.lock(), &[]);
        catalog
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.borrow().clone()
    }

    /// Adds a server at the end of the order.
    pub(crate) fn add(&self, server: &Arc<Server>) {
        self.state.lock().offers.push(Offer {
            server: server.clone(),
            discovered: None,
            lists: Default::default(),
            unavailable: None,
        });
    }

    /// Removes a server and all its items.
    pub(crate) fn remove(&self, server: &Server) {
        let mut state = self.state.lock();
        state.offers.retain(|offer| !is(offer, server));
        state.tool_names.retain(server.name(), |_| false);
        state.prompt_names.retain(server.name(), |_| false);
        self.publish(&state, &ListKind::ALL);
    }

    /// Number of items of a server, by kind.
    pub(crate) fn counts(&self, server: &Server) -> [usize; 4] {
        let state = self.state.lock();
        let offer = state.offers.iter().find(|offer| is(offer, server));
        ListKind::ALL.map(|kind| offer.map_or(0, |offer| offer.list(kind).len()))
    }

    /// Records what a server says about itself.
    pub(crate) fn set_discovered(&self, server: &Server, discovered: DiscoverResult) {
        let mut state = self.state.lock();
        let Some(offer) = state.offers.iter_mut().find(|offer| is(offer, server)) else {
            return;
        };
        offer.discovered = Some(discovered);
        self.publish(&state, &[]);
    }

    /// Replaces a list of a server, and tells the subscribers if it differs.
    pub(crate) fn set_list(&self, server: &Arc<Server>, kind: ListKind, sent: Vec<RawJson>) {
        let mut state = self.state.lock();
        let CatalogState {
            offers,
            tool_names,
            prompt_names,
        } = &mut *state;
        let taken: HashSet<Arc<str>> = match kind {
            ListKind::Resources | ListKind::Templates => {
                let others = offers.iter().filter(|offer| !is(offer, server));
                let items = others.flat_map(|offer| offer.list(kind));
                items.map(|item| item.key.clone()).collect()
            }
            _ => HashSet::new(),
        };
        let Some(offer) = offers.iter_mut().find(|offer| is(offer, server)) else {
            return;
        };
        let before = offer.list(kind);
        if before.len() == sent.len()
            && before
                .iter()
                .zip(&sent)
                .all(|(item, sent)| item.sent == *sent)
        {
            return;
        }
        let own_names = own_names(server, kind, sent);
        let kept: HashSet<&str> = own_names.iter().map(|(own, _)| &**own).collect();
        match kind {
            ListKind::Tools => tool_names.retain(server.name(), |own| kept.contains(own)),
            ListKind::Prompts => prompt_names.retain(server.name(), |own| kept.contains(own)),
            ListKind::Resources | ListKind::Templates => {}
        }
        let mut key = |own: &Arc<str>| {
            let origin = || Origin {
                server: server.name().clone(),
                item: own.clone(),
            };
            match kind {
                ListKind::Tools => tool_names.name_of(&origin()),
                ListKind::Prompts => prompt_names.name_of(&origin()),
                // A URI that another server lists too is addressed by its server.
                _ if taken.contains(own) => Arc::from(format!("mcp://{}/{own}", server.name())),
                _ => own.clone(),
            }
        };
        let items: Vec<_> = own_names
            .into_iter()
            .map(|(own, sent)| Arc::new(Item::new(server, kind, own.clone(), key(&own), sent)))
            .collect();
        report_changed_definitions(before, &items);
        offer.lists.set(kind, items);
        self.publish(&state, &[kind]);
    }

    /// Marks the items of a server as unavailable for this reason, or as available again.
    pub(crate) fn set_unavailable(&self, server: &Server, reason: Option<Arc<str>>) {
        let mut state = self.state.lock();
        let Some(offer) = state.offers.iter_mut().find(|offer| is(offer, server)) else {
            return;
        };
        if offer.unavailable.is_some() == reason.is_some() {
            return;
        }
        offer.unavailable = reason.map(|reason| offer.marked(&reason));
        let kinds: Vec<_> = ListKind::ALL
            .into_iter()
            .filter(|kind| !offer.list(*kind).is_empty())
            .collect();
        if !kinds.is_empty() {
            self.publish(&state, &kinds);
        }
    }

    /// Removes the items of a server that has been away for too long.
    pub(crate) fn clear(&self, server: &Server) {
        let mut state = self.state.lock();
        let Some(offer) = state.offers.iter_mut().find(|offer| is(offer, server)) else {
            return;
        };
        offer.lists = Default::default();
        offer.unavailable = None;
        self.publish(&state, &ListKind::ALL);
    }

    /// Merges the lists, and tells the subscribers that these kinds changed.
    fn publish(&self, state: &CatalogState, changed: &[ListKind]) {
        let items = |kind| {
            let offers = state.offers.iter();
            offers
                .flat_map(|offer| offer.visible(kind))
                .cloned()
                .collect()
        };
        let discovered = state.offers.iter().filter_map(|offer| {
            let discovered = offer.discovered.as_ref()?;
            Some((offer.server.name(), discovered))
        });
        let discovered = discover::merge(&self.info, discovered);
        self.snapshot
            .send_replace(Arc::new(Snapshot::new(items, discovered)));
        for kind in changed {
            self.subscribers.publish(&match kind {
                ListKind::Tools => ServerChange::Tools,
                ListKind::Prompts => ServerChange::Prompts,
                ListKind::Resources | ListKind::Templates => ServerChange::Resources,
            });
        }
    }
}

impl Offer {
    fn list(&self, kind: ListKind) -> &Vec<Arc<Item>> {
        self.lists.get(kind)
    }

    /// The items of a kind as agents see them now.
    fn visible(&self, kind: ListKind) -> &[Arc<Item>] {
        self.unavailable.as_ref().unwrap_or(&self.lists).get(kind)
    }

    /// The items with the reason why they cannot be used.
    fn marked(&self, reason: &str) -> PerKind<Vec<Arc<Item>>> {
        PerKind::of(|kind| {
            let items = self.list(kind).iter();
            items
                .map(|item| Arc::new(item.unavailable(reason)))
                .collect()
        })
    }
}

fn is(offer: &Offer, server: &Server) -> bool {
    std::ptr::eq(&*offer.server, server)
}

/// The items of a list with the server's own name for each; items without a name, or with one that
/// occurred before, are left out.
fn own_names(server: &Server, kind: ListKind, sent: Vec<RawJson>) -> Vec<(Arc<str>, RawJson)> {
    let mut seen = HashSet::new();
    let mut named = Vec::with_capacity(sent.len());
    for item in sent {
        let own = item.get(kind.key_member());
        let own: Option<Arc<str>> = own.and_then(|own| Some(Arc::from(&*own.text()?)));
        match own {
            Some(own) if seen.insert(own.clone()) => named.push((own, item)),
            own => {
                tracing::warn!(server = %server.name(), ?kind, name = ?own, "an item without a name of its own is left out");
            }
        }
    }
    named
}

/// Logs the items whose definition is no longer what it was.
fn report_changed_definitions(before: &[Arc<Item>], now: &[Arc<Item>]) {
    let before: HashMap<&str, &RawJson> =
        before.iter().map(|item| (&*item.own, &item.sent)).collect();
    for item in now {
        if before
            .get(&*item.own)
            .is_some_and(|sent| **sent != item.sent)
        {
            tracing::warn!(server = %item.server.name(), item = %item.own, "a server changed the definition of an item");
        }
    }
}
