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
    pub(crate) resources: Vec<WatchedResource>,
}

impl Watched {
    /// Watches resources for one caller.
    pub(crate) fn watch(&self, resources: Vec<WatchedResource>) -> Watch<'_> {
        self.change(&resources, |count| count + 1);
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

    /// The URIs under which callers watch these resources of a server.
    pub(crate) fn exposed_of(&self, server: &ServerName, own: &BTreeSet<String>) -> Vec<String> {
        self.find(server, |watched| own.contains(watched))
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

    /// Changes the counts of all resources of a subscription.
    fn change(&self, resources: &[WatchedResource], change: impl Fn(usize) -> usize) {
        let mut servers = self.servers.lock();
        let mut changed = BTreeSet::new();
        for resource in resources {
            changed.insert(&resource.server);
            let watched = servers.entry(resource.server.clone()).or_default();
            let key = (resource.own.clone(), resource.exposed.clone());
            let count = watched.counts.remove(&key).unwrap_or_default();
            match change(count) {
                0 => {}
                count => {
                    watched.counts.insert(key, count);
                }
            }
        }
        // Once for all of them: the URIs of all subscriptions are collected, and the task of the server
        // subscribes anew.
        for watched in changed.iter().filter_map(|server| servers.get(*server)) {
            let own = watched.counts.keys().map(|(own, _)| own.clone());
            let uris: BTreeSet<String> = own.collect();
            // Only a change wakes the task.
            watched.uris.send_if_modified(|current| {
                let differs = *current != uris;
                *current = uris;
                differs
            });
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.watched
            .change(&self.resources, |count| count.saturating_sub(1));
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
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Wake, Waker};

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

    /// Notes the URIs that the task of a server would see each time that it is woken.
    struct Task {
        uris: watch::Receiver<BTreeSet<String>>,
        seen: Mutex<Vec<Vec<String>>>,
    }

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            let uris = self.uris.borrow().iter().cloned().collect();
            self.seen.lock().push(uris);
        }
    }

    #[test]
    fn a_server_sees_a_subscription_to_many_resources_come_and_go_as_a_whole() {
        let watched = Watched::default();
        let mut uris = watched.follow(&ServerName::new("s").unwrap());
        let task = Arc::new(Task {
            uris: uris.clone(),
            seen: Mutex::default(),
        });
        let waker = Waker::from(task.clone());
        let mut wait = |change: &mut dyn FnMut()| {
            let mut changed = pin!(uris.changed());
            let mut cx = Context::from_waker(&waker);
            assert!(changed.as_mut().poll(&mut cx).is_pending());
            change();
            assert!(changed.poll(&mut cx).is_ready());
        };
        let mut watch = None;
        wait(&mut || watch = Some(watched.watch(["a", "b", "c"].map(resource).to_vec())));
        wait(&mut || drop(watch.take()));
        assert_eq!(*task.seen.lock(), [vec!["a", "b", "c"], vec![]]);
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
