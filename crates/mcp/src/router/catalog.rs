use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use callgate_wire::cache::CacheScope;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::completion::CompletionFn;
use super::prompt::PromptRoute;
use super::resource::{ResourceRoute, TemplateRoute};
use super::task::TaskConfig;
use super::tool::ToolEntry;
use crate::skill::SkillFiles;

/// Snapshot of the tools, prompts, resources and settings of a router.
#[derive(Clone)]
pub(crate) struct Catalog {
    pub(crate) instructions: Option<String>,
    pub(crate) page_size: usize,
    pub(crate) cache: CachePolicy,
    /// Time that a client has to answer an input request.
    pub(crate) state_ttl: Duration,
    pub(crate) max_subscriptions: usize,
    pub(crate) tasks: TaskConfig,
    /// True once there has been a tool that supports tasks. It stays true when the tool is removed,
    /// because its tasks can still be asked for.
    pub(crate) has_tasks: bool,
    pub(crate) tools: Registry<Arc<ToolEntry>>,
    pub(crate) prompts: Registry<Arc<PromptRoute>>,
    pub(crate) resources: Registry<Arc<ResourceRoute>>,
    pub(crate) templates: Registry<Arc<TemplateRoute>>,
    /// Skills by URI. Their files are among the resources.
    pub(crate) skills: Registry<Arc<SkillFiles>>,
    pub(crate) completion: Option<Arc<CompletionFn>>,
}

/// Cache policy of results: for how long and for whom clients may keep them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CachePolicy {
    pub(crate) ttl_ms: u64,
    pub(crate) scope: CacheScope,
}

impl Catalog {
    /// True once there has been a resource or a resource template.
    pub(crate) fn has_resources(&self) -> bool {
        self.resources.was_used() || self.templates.was_used()
    }
}

impl Default for Catalog {
    fn default() -> Self {
        Self {
            instructions: None,
            page_size: 100,
            cache: CachePolicy::new(Duration::ZERO, CacheScope::Private),
            state_ttl: Duration::from_secs(600),
            max_subscriptions: 10_000,
            tasks: TaskConfig::default(),
            has_tasks: false,
            tools: Registry::default(),
            prompts: Registry::default(),
            resources: Registry::default(),
            templates: Registry::default(),
            skills: Registry::default(),
            completion: None,
        }
    }
}

impl CachePolicy {
    pub(crate) fn new(ttl: Duration, scope: CacheScope) -> Self {
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        Self { ttl_ms, scope }
    }
}

/// Routes of one kind by name or URI, in the order of their first registration.
#[derive(Debug, Clone)]
pub(crate) struct Registry<R> {
    routes: HashMap<Arc<str>, R>,
    /// List items by ascending number, which is the order of registration.
    items: Vec<ListItem>,
    next: u64,
}

/// Item of a list result.
#[derive(Debug, Clone)]
struct ListItem {
    number: u64,
    key: Arc<str>,
    json: Arc<RawValue>,
}

/// Page of a list, and the number of its last item if there are more.
#[derive(Debug)]
pub(crate) struct ListPage<'a> {
    pub(crate) items: Vec<&'a RawValue>,
    pub(crate) next: Option<u64>,
}

impl<R> Registry<R> {
    /// Registers a route and its list item. A route of the same key is replaced and keeps its place.
    pub(crate) fn insert(&mut self, key: &str, item: &impl Serialize, route: R) {
        let json = Arc::from(to_raw_value(item).expect("a list item is JSON"));
        let key: Arc<str> = Arc::from(key);
        if self.routes.insert(key.clone(), route).is_none() {
            let number = self.next;
            self.next += 1;
            self.items.push(ListItem { number, key, json });
        } else if let Some(listed) = self.items.iter_mut().find(|listed| listed.key == key) {
            listed.json = json;
        }
    }

    /// Removes a route. Returns false if there was none.
    pub(crate) fn remove(&mut self, key: &str) -> bool {
        self.items.retain(|listed| &*listed.key != key);
        self.routes.remove(key).is_some()
    }

    /// Route with this key.
    pub(crate) fn get(&self, key: &str) -> Option<&R> {
        self.routes.get(key)
    }

    /// Routes in the order of registration.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &R> {
        self.items
            .iter()
            .filter_map(|listed| self.routes.get(&listed.key))
    }

    /// True once there has been a route, even if it was removed: clients have been told of the
    /// capability by then.
    pub(crate) fn was_used(&self) -> bool {
        self.next > 0
    }

    /// Page of up to `size` items after the one with the number `after`.
    ///
    /// Numbers are never used again, so an item that is added or removed between two pages neither
    /// repeats nor hides others.
    pub(crate) fn page(&self, after: Option<u64>, size: usize) -> ListPage<'_> {
        let start = after.map_or(0, |after| {
            self.items.partition_point(|listed| listed.number <= after)
        });
        let rest = self.items.get(start..).unwrap_or_default();
        let page = rest.get(..size).unwrap_or(rest);
        let next = page.last().filter(|_| rest.len() > page.len());
        ListPage {
            items: page.iter().map(|listed| &*listed.json).collect(),
            next: next.map(|listed| listed.number),
        }
    }
}

impl<R> Default for Registry<R> {
    fn default() -> Self {
        Self {
            routes: HashMap::new(),
            items: Vec::new(),
            next: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry(keys: &[&str]) -> Registry<()> {
        let mut registry = Registry::default();
        for key in keys {
            registry.insert(key, key, ());
        }
        registry
    }

    fn page(registry: &Registry<()>, after: Option<u64>) -> (Vec<&str>, Option<u64>) {
        let page = registry.page(after, 2);
        (
            page.items.iter().map(|item| item.get()).collect(),
            page.next,
        )
    }

    #[test]
    fn pages_follow_the_order_of_registration() {
        let registry = registry(&["c", "a", "b", "d"]);
        assert_eq!(page(&registry, None), (vec!["\"c\"", "\"a\""], Some(1)));
        assert_eq!(page(&registry, Some(1)), (vec!["\"b\"", "\"d\""], None));
        assert_eq!(page(&registry, Some(99)), (vec![], None));
    }

    #[test]
    fn changes_between_pages_neither_repeat_nor_hide_others() {
        let mut registry = registry(&["a", "b", "c", "d"]);
        assert!(registry.remove("b"));
        assert!(!registry.remove("b"));
        registry.insert("c", &"changed", ());
        registry.insert("e", &"e", ());
        assert_eq!(
            page(&registry, Some(1)),
            (vec!["\"changed\"", "\"d\""], Some(3))
        );
        assert_eq!(page(&registry, Some(3)), (vec!["\"e\""], None));
    }
}
