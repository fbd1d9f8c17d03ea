use std::collections::{BTreeSet, HashMap};

use tokio::sync::watch;

use crate::mutex::Mutex;
use crate::server_name::ServerName;

/// Resources that callers have subscribed to, by server: however many callers watch a resource, the
/// server sees one subscription.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    servers: Mutex<HashMap<ServerName, WatchedOfServer>>,
}

#[derive(Debug, Default)]
struct WatchedOfServer {
    /// Number of callers for each pair of the server's URI and the URI that callers know.
    counts: HashMap<(String, String), usize>,
    /// The server's URIs.
    uris: watch::Sender<BTreeSet<String>>,
}

/// Resource of a server under the URI that a caller knows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct WatchedResource {
    pub(crate) server: ServerName,
    /// The server's own URI.
    pub(crate) own: String,
    /// The URI that callers know.
    pub(crate) exposed: String,
}

/// Subscription of one caller. Dropping it ends the watch.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    watched: &'a Watched,
    resources: Vec<WatchedResource>,
}

impl Watched {
    /// Watches resources for one caller.
    pub(crate) fn watch(&self, resources: Vec<WatchedResource>) -> Watch<'_> {
        for resource in &resources {
            self.change(resource, |count| count + 1);
        }
        Watch {
            watched: self,
            resources,
        }
    }

    /// The URIs that are watched at a server, now and later.
    pub(crate) fn follow(&self, server: &ServerName) -> watch::Receiver<BTreeSet<String>> {
        let mut servers = self.servers.lock();
        servers.entry(server.clone()).or_default().uris.subscribe()
    }

    /// The URIs under which callers watch the resource `own` of a server, or one above it.
    pub(crate) fn exposed(&self, server: &ServerName, own: &str) -> Vec<String> {
        let is_it = |watched: &str| own == watched || is_below(own, watched);
        self.find(server, is_it)
    }

    /// The URIs of all resources of a server that callers watch.
    pub(crate) fn all_exposed(&self, server: &ServerName) -> Vec<String> {
        self.find(server, |_| true)
    }

    fn find(&self, server: &ServerName, is_it: impl Fn(&str) -> bool) -> Vec<String> {
        let servers = self.servers.lock();
        let watched = servers.get(server);
        let keys = watched
            .into_iter()
            .flat_map(|watched| watched.counts.keys());
        let found = keys.filter(|(own, _)| is_it(own));
        found.map(|(_, exposed)| exposed.clone()).collect()
    }

    fn change(&self, resource: &WatchedResource, change: impl Fn(usize) -> usize) {
        let mut servers = self.servers.lock();
        let watched = servers.entry(resource.server.clone()).or_default();
        let key = (resource.own.clone(), resource.exposed.clone());
        let count = watched.counts.remove(&key).unwrap_or_default();
        match change(count) {
            0 => {}
            count => {
                watched.counts.insert(key, count);
            }
        }
        let own = watched.counts.keys().map(|(own, _)| own.clone());
        let uris: BTreeSet<String> = own.collect();
        // Only a change wakes the task of the server, which subscribes anew for each.
        watched.uris.send_if_modified(|current| {
            let differs = *current != uris;
            *current = uris;
            differs
        });
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        for resource in &self.resources {
            self.watched
                .change(resource, |count| count.saturating_sub(1));
        }
    }
}

/// True if `uri` is a part of `container`: servers may report a change below a watched resource.
fn is_below(uri: &str, container: &str) -> bool {
    let rest = uri.strip_prefix(container.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(own: &str) -> WatchedResource {
        WatchedResource {
            server: ServerName::new("s").unwrap(),
            own: own.to_owned(),
            exposed: own.to_owned(),
        }
    }

    #[test]
    fn a_server_sees_one_subscription_for_many_callers() {
        let watched = Watched::default();
        let server = ServerName::new("s").unwrap();
        let uris = watched.follow(&server);
        let seen = || uris.borrow().iter().cloned().collect::<Vec<_>>();
        let first = watched.watch(vec![resource("a"), resource("b")]);
        let second = watched.watch(vec![resource("a")]);
        assert_eq!(seen(), ["a", "b"]);
        drop(first);
        assert_eq!(seen(), ["a"]);
        drop(second);
        assert_eq!(seen(), Vec::<String>::new());
    }

    #[test]
    fn a_change_below_a_watched_resource_reaches_its_callers() {
        let watched = Watched::default();
        let _watch = watched.watch(vec![resource("file:///a"), resource("file:///ab")]);
        let server = ServerName::new("s").unwrap();
        let exposed = |own| watched.exposed(&server, own);
        assert_eq!(exposed("file:///a"), ["file:///a"]);
        assert_eq!(exposed("file:///a/b"), ["file:///a"]);
        assert_eq!(exposed("file:///c"), Vec::<String>::new());
    }
}
