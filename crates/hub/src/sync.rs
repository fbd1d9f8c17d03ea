use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::client::{CallOptions, ListenOptions, Subscription, SubscriptionEvent};
use callgate_mcp::subscribers::ServerChange;
use callgate_mcp::wire::capabilities::ServerCapabilities;
use callgate_mcp::wire::code;
use callgate_mcp::wire::subscription::SubscriptionFilter;
use callgate_mcp::{Client, Error, RawJson};
use futures_util::FutureExt as _;
use tokio::time::{Instant, timeout};

use crate::catalog::ListKind;
use crate::retry_timer::{RetryTimer, at};
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
    let catalog = &shared.catalog;
    let client = client.with_options(CallOptions::default().no_cache());
    let offered = offered_lists(capabilities);
    let mut uris = shared.watched.follow(server.name());
    let mut changes = Changes::new(capabilities);
    // Marked as seen before the subscription, so that resources which are added meanwhile lead to another
    // one.
    let wanted = uris.borrow_and_update().clone();
    if let Err(error) = changes.subscribe(server, &client, wanted, shared).await {
        return error;
    }
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
        let mut event = tokio::select! {
            event = next_event(&mut changes.subscription) => Some(event),
            _ = uris.changed() => None,
            () = changes.retry.due() => None,
            () = at(changes.reread_at) => None,
            () = lists.retry.due() => {
                lists.stale.extend(&lists.failed);
                None
            }
        };
        while let Some(current) = event {
            let Some(Ok(current)) = current else {
                changes.end();
                break;
            };
            apply(&current, server, &offered, &mut lists.stale, shared);
            // Changes that came meanwhile are read together.
            event = next_event(&mut changes.subscription).now_or_never();
        }
        let wanted = uris.borrow_and_update().clone();
        if changes.retry.is_due() || wanted != changes.uris {
            let subscribed = changes.subscribe(server, &client, wanted, shared).await;
            if let Err(error) = subscribed {
                return error;
            }
        }
        if changes.reread_at.is_some_and(|due| Instant::now() >= due) {
            changes.reread_at = None;
            read_all_again(server, &offered, &mut lists.stale, shared);
        }
    }
}

/// Subscription to the changes of a server.
struct Changes<'a> {
    capabilities: &'a ServerCapabilities,
    /// Resources that are watched at the server.
    uris: BTreeSet<String>,
    subscription: Option<Subscription>,
    since: Instant,
    /// Time at which a subscription that ended or was refused is opened again.
    retry: RetryTimer,
    /// Time at which everything is read again, because an event may have been lost.
    reread_at: Option<Instant>,
}

impl<'a> Changes<'a> {
    fn new(capabilities: &'a ServerCapabilities) -> Self {
        Self {
            capabilities,
            uris: BTreeSet::new(),
            subscription: None,
            since: Instant::now(),
            retry: RetryTimer::default(),
            reread_at: None,
        }
    }

    /// Subscribes to the lists and to the resources `uris`, in place of the subscription that there is. Tells the
    /// callers of resources that are new here, and has everything read again if events may have been lost.
    ///
    /// # Errors
    /// The server cannot be reached.
    async fn subscribe(
        &mut self,
        server: &Server,
        client: &Client,
        uris: BTreeSet<String>,
        shared: &Shared,
    ) -> Result<(), Error> {
        // Read before the attempt, which clears it.
        let was_lost = self.retry.is_pending();
        let added: BTreeSet<String> = uris.difference(&self.uris).cloned().collect();
        self.uris = uris;
        if self.uris.is_empty() && !announces_changes(self.capabilities) {
            self.subscription = None;
            self.retry.succeed();
            return Ok(());
        }
        self.retry.begin();
        let subscription = subscribe(client, self.capabilities, &self.uris).await?;
        let replaced = std::mem::replace(&mut self.subscription, subscription);
        self.since = Instant::now();
        if self.subscription.is_none() {
            self.retry.fail();
            return Ok(());
        }
        // A caller may have read them before the server has begun to tell of their changes.
        tell_changed(shared, shared.watched.exposed_of(server.name(), &added));
        if was_lost {
            self.reread_at = Some(Instant::now());
        } else if replaced.is_some() {
            // Events that the replaced subscription has not delivered are lost: those in its queue, and over HTTP
            // those on the way too. One reading makes up for all that are replaced until then.
            self.reread_at.get_or_insert(Instant::now() + REREAD);
        }
        Ok(())
    }

    /// Notes that the subscription has ended. One that ends soon is opened less and less often: a
    /// server that is about to exit accepts each one and ends it at once.
    fn end(&mut self) {
        self.subscription = None;
        if self.since.elapsed() >= STABLE {
            self.retry.succeed();
        }
        self.retry.fail();
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

/// Life of a subscription after which earlier ends no longer count.
const STABLE: Duration = Duration::from_secs(60);

/// Time from the replacement of a subscription until everything is read again: however often callers come and go, a
/// server is not asked for its lists more often.
const REREAD: Duration = Duration::from_secs(2);

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
    // A loss is noticed here and not hidden: a server that cannot be reached is connected anew.
    let options = ListenOptions::default().with_retries(0);
    // The lists are read after this, so a server that never answers must not delay them for long.
    match timeout(SUBSCRIBE, client.listen_with(&filter, options)).await {
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

/// Applies an event.
fn apply(
    event: &SubscriptionEvent,
    server: &Server,
    offered: &[ListKind],
    stale: &mut BTreeSet<ListKind>,
    shared: &Shared,
) {
    match event {
        SubscriptionEvent::ToolsListChanged => stale.extend([ListKind::Tools]),
        SubscriptionEvent::PromptsListChanged => stale.extend([ListKind::Prompts]),
        SubscriptionEvent::ResourcesListChanged => {
            stale.extend([ListKind::Resources, ListKind::Templates]);
        }
        SubscriptionEvent::ResourceUpdated { uri } => {
            tell_changed(shared, shared.watched.exposed(server.name(), uri));
        }
        SubscriptionEvent::Gap => read_all_again(server, offered, stale, shared),
        _ => {}
    }
}

/// Makes everything be read again, here and by the callers: changes may have been lost.
fn read_all_again(
    server: &Server,
    offered: &[ListKind],
    stale: &mut BTreeSet<ListKind>,
    shared: &Shared,
) {
    // What changed while there was no subscription is not known.
    stale.extend(offered);
    tell_changed(shared, shared.watched.all_exposed(server.name()));
}

/// Tells the callers that these resources have changed.
fn tell_changed(shared: &Shared, exposed: Vec<String>) {
    for exposed in exposed {
        let change = ServerChange::Resource(exposed);
        shared.catalog.subscribers.publish(&change);
    }
}
