use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgate_wire::legacy::method as old;
use callgate_wire::legacy::subscription::SubscribeParams;
use callgate_wire::{Method, RawJson};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::config::Config;
use super::transport::{Heard, Outgoing, Transport};

/// The resources that anybody watches, counted: the server is asked once for each.
#[derive(Debug, Default)]
pub(super) struct Watched {
    resources: Mutex<HashMap<String, Resource>>,
    wanted: Notify,
    settled: Notify,
}

#[derive(Debug, Default)]
struct Resource {
    watchers: usize,
    at_server: AtServer,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum AtServer {
    #[default]
    Unknown,
    Subscribed,
    Refused,
}

/// Some resources being watched, until it is dropped.
pub(super) struct Watch<'a> {
    watched: &'a Watched,
    uris: Vec<String>,
}

/// What the server should be asked next.
enum Step {
    Subscribe(String),
    Unsubscribe(String),
}

impl Watched {
    /// Watches `uris`. It takes a while until the server knows.
    pub(super) fn watch(&self, uris: Vec<String>) -> Watch<'_> {
        let mut resources = self.resources();
        for uri in &uris {
            resources.entry(uri.clone()).or_default().watchers += 1;
        }
        drop(resources);
        self.wanted.notify_one();
        Watch {
            watched: self,
            uris,
        }
    }

    /// The watched resources that a change of `uri` is a change of: itself and what it is part of.
    pub(super) fn covering(&self, uri: &str) -> Vec<String> {
        let resources = self.resources();
        let watched = resources.keys().filter(|watched| {
            let rest = uri.strip_prefix(watched.as_str());
            rest.is_some_and(|rest| {
                rest.is_empty() || rest.starts_with('/') || watched.ends_with('/')
            })
        });
        watched.cloned().collect()
    }

    /// Asks the server for what is wanted and not yet so, one after the other, for ever.
    pub(super) async fn keep_up(&self, transport: &Arc<dyn Transport>, config: &Config) {
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
            let outgoing = Outgoing {
                method: Method::new(method),
                params: RawJson::encode(&params).expect("params are always JSON"),
            };
            let (heard, _hearing) = Heard::channel(1);
            let asked = timeout(config.handshake, transport.request(outgoing, heard)).await;
            let at_server = match (asked, &step) {
                (Ok(Ok(_)), _) | (_, Step::Unsubscribe(_)) => on_success,
                _ => AtServer::Refused,
            };
            if let Some(resource) = self.resources().get_mut(uri) {
                resource.at_server = at_server;
            }
            self.settled.notify_waiters();
        }
    }

    fn next_step(&self) -> Option<Step> {
        let mut resources = self.resources();
        resources.retain(|_, resource| {
            resource.watchers > 0 || resource.at_server == AtServer::Subscribed
        });
        let step =
            |(uri, resource): (&String, &Resource)| match (resource.watchers, resource.at_server) {
                (0, AtServer::Subscribed) => Some(Step::Unsubscribe(uri.clone())),
                (1.., AtServer::Unknown) => Some(Step::Subscribe(uri.clone())),
                _ => None,
            };
        resources.iter().find_map(step)
    }

    fn resources(&self) -> MutexGuard<'_, HashMap<String, Resource>> {
        self.resources
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch<'_> {
    /// The resources that the server tells the changes of, once it has said so.
    pub(super) async fn settled(&self) -> Vec<String> {
        loop {
            let settled = self.watched.settled.notified();
            tokio::pin!(settled);
            // Registered before the look at the resources, so that no wake-up is missed.
            settled.as_mut().enable();
            let states: Vec<AtServer> = {
                let resources = self.watched.resources();
                let state = |uri| {
                    resources
                        .get(uri)
                        .map_or(AtServer::Refused, |resource| resource.at_server)
                };
                self.uris.iter().map(state).collect()
            };
            if !states.contains(&AtServer::Unknown) {
                let told = self.uris.iter().zip(states);
                return told
                    .filter(|(_, state)| *state == AtServer::Subscribed)
                    .map(|(uri, _)| uri.clone())
                    .collect();
            }
            settled.await;
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let mut resources = self.watched.resources();
        for uri in &self.uris {
            if let Some(resource) = resources.get_mut(uri) {
                resource.watchers -= 1;
            }
        }
        drop(resources);
        self.watched.wanted.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_a_part_is_a_change_of_the_whole() {
        let watched = Watched::default();
        let uris = ["file:///a", "file:///a/b/", "file:///ab"].map(str::to_owned);
        let watch = watched.watch(uris.to_vec());
        let covering = |uri: &str| {
            let mut uris = watched.covering(uri);
            uris.sort();
            uris
        };
        assert_eq!(covering("file:///a"), ["file:///a"]);
        assert_eq!(covering("file:///a/b/c"), ["file:///a", "file:///a/b/"]);
        assert_eq!(covering("file:///c"), [""; 0]);
        drop(watch);
    }
}
