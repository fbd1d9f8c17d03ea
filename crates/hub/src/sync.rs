use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::client::{CallOptions, Subscription, SubscriptionEvent};
use callgate_mcp::subscribers::ServerChange;
use callgate_mcp::wire::capabilities::ServerCapabilities;
use callgate_mcp::wire::code;
use callgate_mcp::wire::subscription::SubscriptionFilter;
use callgate_mcp::{Client, Error, RawJson};
use futures_util::FutureExt as _;
use tokio::time::{sleep, timeout};

use crate::catalog::ListKind;
use crate::retry_timer::RetryTimer;
use crate::server::{Server, is_unreachable};
use crate::shared::Shared;

/// Keeps the catalog equal to what one connected server offers, until the server cannot be reached:
/// returns the error that says so.
///
/// It subscribes before it lists, so that no change is lost in between. Changes that come while it
/// lists are read together afterwards, so a server that announces many changes is listed once. A list
/// that cannot be read is read again later; the others are shown and saved without it.
pub(crate) async fn follow(
    server: &Arc<Server>,
    client: Client,
    capabilities: &ServerCapabilities,
    shared: &Shared,
) -> Error {
    let Shared {
        catalog, watched, ..
    } = shared;
    let client = client.with_options(CallOptions::default().no_cache());
    let offered = offered_lists(capabilities);
    let mut uris = watched.follow(server.name());
    let mut wanted = uris.borrow_and_update().clone();
    let mut subscription = match subscribe(&client, capabilities, &wanted).await {
        Ok(subscription) => subscription,
        Err(error) => return error,
    };
    // A server may have had lists in its saved catalog that it no longer offers.
    for kind in ListKind::ALL {
        if !offered.contains(&kind) {
            catalog.set_list(server, kind, Vec::new());
        }
    }
    let mut lists = PendingLists::new(&offered);
    loop {
        if let Err(error) = lists.read(server, &client, shared).await {
            return error;
        }
        catalog.set_complete(server);
        server.set_listed();
        shared.status_changed();
        let event = tokio::select! {
            event = next_event(&mut subscription) => Some(event),
            _ = uris.changed() => None,
            () = lists.retry.due() => {
                lists.stale.extend(&lists.failed);
                None
            }
            () = sleep(RETRY), if subscription.is_none() => None,
        };
        let mut event = event;
        while let Some(current) = event {
            if !apply(&current, server, &offered, &mut lists.stale, shared) {
                subscription = None;
                break;
            }
            // Changes that came meanwhile are read together.
            event = next_event(&mut subscription).now_or_never();
        }
        let now_wanted = uris.borrow_and_update().clone();
        if subscription.is_none() || now_wanted != wanted {
            wanted = now_wanted;
            // The new subscription stands before the old one ends, so that no change is missed.
            let renewed = match subscribe(&client, capabilities, &wanted).await {
                Ok(renewed) => renewed,
                Err(error) => return error,
            };
            if renewed.is_some() && subscription.is_none() {
                lists.stale.extend(&offered);
            }
            subscription = renewed;
        }
    }
}

/// Lists of a server that are to be read.
struct PendingLists {
    /// To be read now.
    stale: BTreeSet<ListKind>,
    /// Could not be read the last time.
    failed: BTreeSet<ListKind>,
    /// Time at which the failed ones are read again.
    retry: RetryTimer,
}

impl PendingLists {
    fn new(offered: &[ListKind]) -> Self {
        Self {
            stale: offered.iter().copied().collect(),
            failed: BTreeSet::new(),
            retry: RetryTimer::default(),
        }
    }

    /// Reads the stale lists. One that fails keeps no other from being read.
    ///
    /// # Errors
    /// The server cannot be reached.
    async fn read(
        &mut self,
        server: &Arc<Server>,
        client: &Client,
        shared: &Shared,
    ) -> Result<(), Error> {
        let mut is_failure = false;
        for kind in std::mem::take(&mut self.stale) {
            let error = match read_list(client, kind).await {
                Ok(items) => {
                    self.failed.remove(&kind);
                    shared.catalog.set_list(server, kind, items);
                    continue;
                }
                Err(error) if is_unreachable(&error) => return Err(error),
                Err(error) => error,
            };
            is_failure = true;
            let (server, list) = (server.name(), kind.method());
            // Only the first failure is news.
            if self.failed.insert(kind) {
                tracing::warn!(%server, list, %error, "a list cannot be read; it is tried again later");
            } else {
                tracing::debug!(%server, list, %error, "a list still cannot be read");
            }
        }
        match (is_failure, self.failed.is_empty()) {
            (true, _) => self.retry.fail(),
            (false, true) => self.retry.succeed(),
            // A list that was read says nothing about those that wait for their time.
            (false, false) => {}
        }
        Ok(())
    }
}

/// Pause before a lost subscription is opened again.
const RETRY: Duration = Duration::from_secs(15);

/// Time that a server has to accept a subscription.
const SUBSCRIBE: Duration = Duration::from_secs(5);

/// Lists that a server offers.
fn offered_lists(capabilities: &ServerCapabilities) -> Vec<ListKind> {
    let mut offered = Vec::new();
    if capabilities.tools.is_some() {
        offered.push(ListKind::Tools);
    }
    if capabilities.prompts.is_some() {
        offered.push(ListKind::Prompts);
    }
    if capabilities.resources.is_some() {
        offered.extend([ListKind::Resources, ListKind::Templates]);
    }
    offered
}

/// Reads a list. A server that does not know the method has nothing to list: many declare resources
/// and have no templates.
async fn read_list(client: &Client, kind: ListKind) -> Result<Vec<RawJson>, Error> {
    match client.list_raw(kind.method()).await {
        Err(error) if error.code() == code::METHOD_NOT_FOUND => Ok(Vec::new()),
        outcome => outcome,
    }
}

/// Subscribes to all changes of the lists, and of these resources. `None` if the server cannot.
///
/// # Errors
/// The server cannot be reached.
async fn subscribe(
    client: &Client,
    capabilities: &ServerCapabilities,
    uris: &BTreeSet<String>,
) -> Result<Option<Subscription>, Error> {
    let mut filter = SubscriptionFilter::default();
    if capabilities.tools.is_some() {
        filter = filter.with_tools();
    }
    if capabilities.prompts.is_some() {
        filter = filter.with_prompts();
    }
    if capabilities.resources.is_some() {
        filter = filter.with_resources();
        filter = uris.iter().fold(filter, SubscriptionFilter::with_resource);
    }
    if uris.is_empty() && !announces_changes(capabilities) {
        return Ok(None);
    }
    // The lists are read after this, so a server that never answers must not delay them for long.
    match timeout(SUBSCRIBE, client.listen(&filter)).await {
        Ok(Ok(subscription)) => Ok(Some(subscription)),
        Ok(Err(error)) if is_unreachable(&error) => Err(error),
        Ok(Err(error)) => {
            tracing::debug!(%error, "the server takes no subscription");
            Ok(None)
        }
        Err(_) => {
            tracing::debug!("the server does not answer a subscription");
            Ok(None)
        }
    }
}

/// True if a server says that it tells of changes of a list.
fn announces_changes(capabilities: &ServerCapabilities) -> bool {
    let lists = [&capabilities.tools, &capabilities.prompts].map(|list| {
        let list = list.as_ref();
        list.and_then(|list| list.list_changed)
    });
    let resources = capabilities.resources.as_ref();
    let resources = resources.and_then(|resources| resources.list_changed);
    lists.contains(&Some(true)) || resources == Some(true)
}

/// The next event; waits for ever without a subscription.
async fn next_event(
    subscription: &mut Option<Subscription>,
) -> Option<Result<SubscriptionEvent, Error>> {
    match subscription {
        Some(subscription) => subscription.next().await,
        None => std::future::pending().await,
    }
}

/// Applies an event. Returns false if the subscription is over.
fn apply(
    event: &Option<Result<SubscriptionEvent, Error>>,
    server: &Server,
    offered: &[ListKind],
    stale: &mut BTreeSet<ListKind>,
    shared: &Shared,
) -> bool {
    let Shared {
        catalog, watched, ..
    } = shared;
    let Some(Ok(event)) = event else {
        return false;
    };
    match event {
        SubscriptionEvent::ToolsListChanged => stale.extend([ListKind::Tools]),
        SubscriptionEvent::PromptsListChanged => stale.extend([ListKind::Prompts]),
        SubscriptionEvent::ResourcesListChanged => {
            stale.extend([ListKind::Resources, ListKind::Templates]);
        }
        SubscriptionEvent::ResourceUpdated { uri } => {
            for exposed in watched.exposed(server.name(), uri) {
                catalog
                    .subscribers
                    .publish(&ServerChange::Resource(exposed));
            }
        }
        SubscriptionEvent::Gap => {
            // Changes may have been lost: everything is read again, here and by the callers.
            stale.extend(offered);
            for exposed in watched.all_exposed(server.name()) {
                catalog
                    .subscribers
                    .publish(&ServerChange::Resource(exposed));
            }
        }
        _ => {}
    }
    true
}
