use std::collections::HashMap;
use std::sync::Arc;

use callgate_wire::legacy::method as old;
use callgate_wire::legacy::subscription::SubscribeParams;
use tokio::sync::watch;
use tokio::time::timeout;

use super::transport::{OldRequest, SessionTransport};
use crate::upstream::UpstreamConfig;

/// Resources that clients are subscribed to, counted: the server has one subscription for each.
#[derive(Debug, Default)]
pub(super) struct ResourceSubscriptions(watch::Sender<Resources>);

type Resources = HashMap<String, Resource>;

#[derive(Debug, Default)]
struct Resource {
    subscribers: usize,
    at_server: AtServer,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum AtServer {
    #[default]
    Unknown,
    Subscribed,
    Refused,
}

/// Subscription to some resources, until it is dropped.
pub(super) struct SubscriptionGuard<'a> {
    table: &'a ResourceSubscriptions,
    uris: Vec<String>,
}

impl ResourceSubscriptions {
    /// Subscribes to `uris`. The server is asked in the background.
    pub(super) fn subscribe(&self, uris: Vec<String>) -> SubscriptionGuard<'_> {
        self.0.send_modify(|resources| {
            for uri in &uris {
                resources.entry(uri.clone()).or_default().subscribers += 1;
            }
        });
        SubscriptionGuard { table: self, uris }
    }

    /// The subscribed resources that a change of `uri` concerns: itself, and those that it is part of.
    pub(super) fn covering(&self, uri: &str) -> Vec<String> {
        let resources = self.0.borrow();
        let covering = resources.keys().filter(|subscribed| {
            let rest = uri.strip_prefix(subscribed.as_str());
            rest.is_some_and(|rest| {
                rest.is_empty() || rest.starts_with('/') || subscribed.ends_with('/')
            })
        });
        covering.cloned().collect()
    }

    /// Subscribes and unsubscribes at the server, one request at a time, until it is dropped.
    pub(super) async fn run(&self, transport: &Arc<dyn SessionTransport>, config: &UpstreamConfig) {
        let mut changes = self.0.subscribe();
        loop {
            // Before the table is read, so that a change meanwhile is noticed.
            changes.mark_unchanged();
            let Some((uri, subscribe)) = self.next_step() else {
                // It cannot fail: the sender lives as long as `self`.
                let _ = changes.changed().await;
                continue;
            };
            let method = match subscribe {
                true => old::RESOURCES_SUBSCRIBE,
                false => old::RESOURCES_UNSUBSCRIBE,
            };
            let request = OldRequest::new(method, &SubscribeParams::new(uri.as_str()));
            let asked = timeout(config.handshake_timeout, transport.ask(request)).await;
            let at_server = match (subscribe, asked) {
                // Whatever the answer was: a new subscriber asks the server again.
                (false, _) => AtServer::Unknown,
                (true, Ok(Ok(_))) => AtServer::Subscribed,
                // Not repeated for the present subscribers. The entry goes with the last of them, and the
                // next one asks again.
                (true, _) => AtServer::Refused,
            };
            self.0.send_modify(|resources| {
                if let Some(resource) = resources.get_mut(&uri) {
                    resource.at_server = at_server;
                }
            });
        }
    }

    /// A resource, and true if it is to be subscribed to at the server, or false for the opposite.
    fn next_step(&self) -> Option<(String, bool)> {
        // Not announced: no subscriber waits for an entry that is not used.
        self.0.send_if_modified(|resources| {
            resources.retain(|_, resource| {
                resource.subscribers > 0 || resource.at_server == AtServer::Subscribed
            });
            false
        });
        let resources = self.0.borrow();
        let mut steps = resources.iter().filter_map(|(uri, resource)| {
            match (resource.subscribers, resource.at_server) {
                (0, AtServer::Subscribed) => Some((uri.clone(), false)),
                (1.., AtServer::Unknown) => Some((uri.clone(), true)),
                _ => None,
            }
        });
        steps.next()
    }
}

impl SubscriptionGuard<'_> {
    /// Waits for the answers of the server, and returns the resources that it accepted.
    pub(super) async fn settled(&self) -> Vec<String> {
        let is = |resources: &Resources, uri: &String, state: AtServer| {
            let resource = resources.get(uri);
            resource.is_some_and(|resource| resource.at_server == state)
        };
        let mut resources = self.table.0.subscribe();
        let is_settled = |resources: &Resources| {
            let mut uris = self.uris.iter();
            !uris.any(|uri| is(resources, uri, AtServer::Unknown))
        };
        let Ok(resources) = resources.wait_for(is_settled).await else {
            return Vec::new();
        };
        let accepted = |uri: &&String| is(&resources, uri, AtServer::Subscribed);
        self.uris.iter().filter(accepted).cloned().collect()
    }
}

impl Drop for SubscriptionGuard<'_> {
    fn drop(&mut self) {
        self.table.0.send_modify(|resources| {
            for uri in &self.uris {
                if let Some(resource) = resources.get_mut(uri) {
                    resource.subscribers -= 1;
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_a_part_is_a_change_of_the_whole() {
        let table = ResourceSubscriptions::default();
        let uris = ["file:///a", "file:///a/b/", "file:///ab"].map(str::to_owned);
        let guard = table.subscribe(uris.to_vec());
        let covering = |uri: &str| {
            let mut uris = table.covering(uri);
            uris.sort();
            uris
        };
        assert_eq!(covering("file:///a"), ["file:///a"]);
        assert_eq!(covering("file:///a/b/c"), ["file:///a", "file:///a/b/"]);
        assert_eq!(covering("file:///c"), [""; 0]);
        drop(guard);
    }
}
