use std::collections::VecDeque;
use std::sync::Arc;

use crate::service::Caller;

/// Texts of large results, each readable by the caller that it was made for. The oldest ones give way
/// to new ones.
#[derive(Debug)]
pub(super) struct StoredResults {
    max_count: usize,
    max_bytes: usize,
    /// Oldest first.
    results: VecDeque<StoredResult>,
    bytes: usize,
}

#[derive(Debug)]
struct StoredResult {
    id: String,
    caller: Caller,
    text: Arc<str>,
}

impl StoredResults {
    pub(super) fn new(max_count: usize, max_bytes: usize) -> Self {
        Self {
            max_count,
            max_bytes,
            results: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Stores a text and returns its id; `None` if it is larger than all texts together may be.
    ///
    /// A text that the caller has already keeps its id: a client may read the same task again and again.
    pub(super) fn insert(&mut self, caller: &Caller, text: &str) -> Option<String> {
        let is_it = |result: &StoredResult| &*result.text == text && result.caller == *caller;
        if let Some(place) = self.results.iter().position(is_it) {
            let known = self.results.remove(place)?;
            let id = known.id.clone();
            self.results.push_back(known);
            return Some(id);
        }
        if text.len() > self.max_bytes || self.max_count == 0 {
            return None;
        }
        while self.results.len() >= self.max_count || self.bytes + text.len() > self.max_bytes {
            let oldest = self.results.pop_front()?;
            self.bytes -= oldest.text.len();
        }
        let id = random_id();
        self.bytes += text.len();
        self.results.push_back(StoredResult {
            id: id.clone(),
            caller: caller.clone(),
            text: Arc::from(text),
        });
        Some(id)
    }

    /// The text with this id, if it was made for this caller.
    pub(super) fn get(&self, caller: &Caller, id: &str) -> Option<Arc<str>> {
        let is_it = |result: &&StoredResult| result.id == id && result.caller == *caller;
        let result = self.results.iter().find(is_it)?;
        Some(result.text.clone())
    }
}

/// An id that cannot be guessed: callers without a name share one identity.
fn random_id() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_the_caller_has_keeps_its_id_and_becomes_the_newest() {
        let mut store = StoredResults::new(2, 10);
        let first = store.insert(&Caller::Local, "a");
        let other = store.insert(&Caller::Anonymous, "a");
        assert_ne!(first, other);
        assert_eq!(store.insert(&Caller::Local, "a"), first);
        assert_eq!((store.results.len(), store.bytes), (2, 2));
        store.insert(&Caller::Local, "b");
        assert!(store.get(&Caller::Local, &first.unwrap()).is_some());
        assert!(store.get(&Caller::Anonymous, &other.unwrap()).is_none());
    }

    #[test]
    fn the_oldest_texts_give_way() {
        let caller = Caller::Local;
        let mut store = StoredResults::new(3, 10);
        let mut insert = |text: &str| {
            let id = store.insert(&caller, text);
            let texts: Vec<_> = store.results.iter().map(|r| r.text.to_string()).collect();
            (id.is_some(), texts.join(","), store.bytes)
        };
        let stored = |texts: &str, bytes| (true, texts.to_owned(), bytes);
        assert_eq!(insert("a"), stored("a", 1));
        assert_eq!(insert("b"), stored("a,b", 2));
        assert_eq!(insert("c"), stored("a,b,c", 3));
        assert_eq!(insert("d"), stored("b,c,d", 3));
        assert_eq!(insert("12345678"), stored("c,d,12345678", 10));
        assert_eq!(insert("123"), stored("123", 3));
        assert_eq!(insert(&"x".repeat(11)), (false, "123".to_owned(), 3));
        assert_eq!(insert(&"x".repeat(10)), stored("xxxxxxxxxx", 10));
    }

    #[test]
    fn a_text_is_read_by_its_caller_only() {
        let mut store = StoredResults::new(3, 10);
        let id = store.insert(&Caller::Local, "text").unwrap();
        assert_eq!(store.get(&Caller::Local, &id).as_deref(), Some("text"));
        assert_eq!(store.get(&Caller::Anonymous, &id), None);
        assert_eq!(store.get(&Caller::Local, ""), None);
    }
}
