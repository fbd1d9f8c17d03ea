use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// Routes of one kind by key, in the order in which they were first registered.
#[derive(Debug)]
pub(crate) struct Registry<R> {
    routes: HashMap<Arc<str>, Arc<R>>,
    /// The order, by ascending number.
    listed: Vec<Listed>,
    next: u64,
}

/// How a route stands in a list.
#[derive(Debug, Clone)]
struct Listed {
    number: u64,
    key: Arc<str>,
    item: Arc<RawValue>,
}

/// Some items of a list, and the number to go on after.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    pub(crate) items: Vec<&'a RawValue>,
    pub(crate) next: Option<u64>,
}

impl<R> Registry<R> {
    /// Registers a route with what lists say of it; one of the same key is replaced in its place.
    pub(crate) fn insert(&mut self, key: &str, item: &impl Serialize, route: R) {
        let item = Arc::from(to_raw_value(item).expect("a list item is JSON"));
        let key: Arc<str> = Arc::from(key);
        if self.routes.insert(key.clone(), Arc::new(route)).is_none() {
            let number = self.next;
            self.next += 1;
            self.listed.push(Listed { number, key, item });
        } else if let Some(listed) = self.listed.iter_mut().find(|listed| listed.key == key) {
            listed.item = item;
        }
    }

    /// Removes a route; whether there was one.
    pub(crate) fn remove(&mut self, key: &str) -> bool {
        self.listed.retain(|listed| &*listed.key != key);
        self.routes.remove(key).is_some()
    }

    /// The route with this key.
    pub(crate) fn get(&self, key: &str) -> Option<&Arc<R>> {
        self.routes.get(key)
    }

    /// The routes in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<R>> {
        self.listed
            .iter()
            .filter_map(|listed| self.routes.get(&listed.key))
    }

    /// Whether there has ever been a route, so that clients may know of the feature.
    pub(crate) fn was_used(&self) -> bool {
        self.next > 0
    }

    /// Up to `size` items after the one with the number `after`.
    ///
    /// Numbers are never used again, so what is added or removed meanwhile neither repeats nor
    /// hides other items.
    pub(crate) fn page(&self, after: Option<u64>, size: usize) -> Page<'_> {
        let start = after.map_or(0, |after| {
            self.listed.partition_point(|listed| listed.number <= after)
        });
        let rest = self.listed.get(start..).unwrap_or_default();
        let page = rest.get(..size).unwrap_or(rest);
        let next = page.last().filter(|_| rest.len() > page.len());
        Page {
            items: page.iter().map(|listed| &*listed.item).collect(),
            next: next.map(|listed| listed.number),
        }
    }
}

impl<R> Default for Registry<R> {
    fn default() -> Self {
        Self {
            routes: HashMap::new(),
            listed: Vec::new(),
            next: 0,
        }
    }
}

impl<R> Clone for Registry<R> {
    fn clone(&self) -> Self {
        Self {
            routes: self.routes.clone(),
            listed: self.listed.clone(),
            next: self.next,
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
