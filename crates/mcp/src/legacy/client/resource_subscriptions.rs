use std::collections::HashMap;
use std::sync::Arc;

use callgate_wire::legacy::method as old;
use callgate_wire::legacy::subscription::SubscribeParams;
use callgate_wire::{Method, RawJson};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::transport::{MessageSender, OldRequest, SessionTransport};
use crate::mutex::Mutex;
use crate::upstream::Config;

/// Resources that clients are subscribed to, counted: the server has one subscription for each.
#[derive(Debug, Default)]
pub(super) struct ResourceSubscriptions {
    resources: Mutex<HashMap<String, Resource>>,
    wanted: Notify,
    settled: Notify,
}

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

/// Next request to the server.
enum Step {
    Subscribe(String),
    Unsubscribe(String),
}

impl ResourceSubscriptions {
    /// Subscribes to `uris`. The server is asked in the background.
    pub(super) fn subscribe(&self, uris: Vec<String>) -> SubscriptionGuard<'_> {
        let mut resources = self.resources.lock();
        for uri in &uris {
            resources.entry(uri.clone()).or_default().subscribers += 1;
        }
        drop(resources);
        self.wanted.notify_one();
        SubscriptionGuard { table: self, uris }
    }

    /// The subscribed resources that a change of `uri` concerns: itself, and those that it is part of.
    pub(super) fn covering(&self, uri: &str) -> Vec<String> {
        let resources = self.resources.lock();
        let covering = resources.keys().filter(|subscribed| {
            let rest = uri.strip_prefix(subscribed.as_str());
            rest.is_some_and(|rest| {
                rest.is_empty() || rest.starts_with('/') || subscribed.ends_with('/')
            })
        });
        covering.cloned().collect()
    }

    /// Subscribes and unsubscribes at the server, one request at a time, until it is dropped.
    pub(super) async fn run(&self, transport: &Arc<dyn SessionTransport>, config: &Config) {
        loop {
            let Some(step) = self.next_step() else {
                self.wanted.notified().await;
                continue;
            };
            let (method, uri, on_success) = match &step {
                Step::Subscribe(uri) => (old::RESOURCES_SUBSCRIBE, uri, AtServer::Subscribed),
                Step::Unsubscribe(uri) => (old::RESOURCES_UNSUBSCRIBE, uri, AtServer::Unknown),
            };
            let params = SubscribeParams::new(uri.as_str());
            let outgoing = OldRequest {
                method: Method::new(method),
                params: RawJson::encode(&params).expect("params are always JSON"),
            };
            let (messages, _incoming) = MessageSender::channel(1);
            let asked = timeout(
                config.handshake_timeout,
                transport.request(outgoing, messages),
            )
            .await;
            let at_server = match (asked, &step) {
                (Ok(Ok(_)), _) | (_, Step::Unsubscribe(_)) => on_success,
                _ => AtServer::Refused,
            };
            if let Some(resource) = self.resources.lock().get_mut(uri) {
                resource.at_server = at_server;
            }
            self.settled.notify_waiters();
        }
    }

    fn next_step(&self) -> Option<Step> {
        let mut resources = self.resources.lock();
        resources.retain(|_, resource| {
            resource.subscribers > 0 || resource.at_server == AtServer::Subscribed
        });
        let step = |(uri, resource): (&String, &Resource)| match (
            resource.subscribers,
            resource.at_server,
        ) {
            (0, AtServer::Subscribed) => Some(Step::Unsubscribe(uri.clone())),
            (1.., AtServer::Unknown) => Some(Step::Subscribe(uri.clone())),
            _ => None,
        };
        resources.iter().find_map(step)
    }
}

impl SubscriptionGuard<'_> {
    /// Waits for the answers of the server, and returns the resources that it accepted.
    pub(super) async fn settled(&self) -> Vec<String> {
        loop {
            let settled = self.table.settled.notified();
            tokio::pin!(settled);
            // Registered before the check of the resources, so that no wake-up is missed.
            settled.as_mut().enable();
            let states: Vec<AtServer> = {
                let resources = self.table.resources.lock();
                let state = |uri| {
                    resources
                        .get(uri)
                        .map_or(AtServer::Refused, |resource| resource.at_server)
                };
                self.uris.iter().map(state).collect()
            };
            if !states.contains(&AtServer::Unknown) {
                let states = self.uris.iter().zip(states);
                return states
                    .filter(|(_, state)| *state == AtServer::Subscribed)
                    .map(|(uri, _)| uri.clone())
                    .collect();
            }
            settled.await;
        }
    }
}

impl Drop for SubscriptionGuard<'_> {
    fn drop(&mut self) {
        let mut resources = self.table.resources.lock();
        for uri in &self.uris {
            if let Some(resource) = resources.get_mut(uri) {
                resource.subscribers -= 1;
            }
        }
        drop(resources);
        self.table.wanted.notify_one();
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
