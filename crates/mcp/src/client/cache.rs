use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callgate_wire::{Method, RawJson, method};
use tokio::time::Instant;

/// Results that the server allowed to keep, for as long as it allowed.
///
/// A cache belongs to one client and so to one authorization: private and public results may both
/// stay in it.
#[derive(Debug)]
pub(super) struct Cache {
    limits: CacheLimits,
    state: Mutex<State>,
}

/// How much a client keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimits {
    /// The most results; 0 keeps none.
    pub entries: usize,
    /// The most bytes of results and parameters together.
    pub bytes: usize,
}

/// What a result was the answer to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// The method.
    pub(super) method: Method,
    /// The parameters that decide the result: all but `_meta`.
    pub(super) params: RawJson,
}

/// What has become stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stale<'a> {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The lists of resources and templates.
    Resources,
    /// The resource with this URI, and those above and below it.
    Resource(&'a str),
    /// All pages of this list.
    Method(&'a Method),
    /// Everything.
    All,
}

/// The state of the cache before a request was sent.
///
/// A result is kept only if nothing became stale while it was under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticket(u64);

#[derive(Debug, Default)]
struct State {
    entries: HashMap<Key, Entry>,
    bytes: usize,
    /// Counts what was kept, to find the oldest.
    stored: u64,
    /// Counts what became stale.
    generation: u64,
}

#[derive(Debug)]
struct Entry {
    result: RawJson,
    fresh_until: Instant,
    stored: u64,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self {
            entries: 256,
            bytes: 8 * 1024 * 1024,
        }
    }
}

impl Cache {
    /// An empty cache.
    pub(super) fn new(limits: CacheLimits) -> Self {
        Self {
            limits,
            state: Mutex::default(),
        }
    }

    /// The result for `key`, if there is one that is fresh at `now`.
    pub(super) fn find(&self, key: &Key, now: Instant) -> Option<RawJson> {
        let mut state = self.state();
        let entry = state.entries.get(key)?;
        if now < entry.fresh_until {
            return Some(entry.result.clone());
        }
        state.remove(key);
        None
    }

    /// To be taken before a request is sent whose result is to be kept.
    pub(super) fn ticket(&self) -> Ticket {
        Ticket(self.state().generation)
    }

    /// Keeps `result` for `ttl` from `now` on, and makes room for it.
    pub(super) fn keep(
        &self,
        key: Key,
        result: &RawJson,
        ttl: Duration,
        now: Instant,
        ticket: Ticket,
    ) {
        let mut state = self.state();
        let size = size(&key, result);
        let wanted = ttl > Duration::ZERO && state.generation == ticket.0;
        if !wanted || size > self.limits.bytes || self.limits.entries == 0 {
            return;
        }
        // A lifetime too long to count is cut to one that no process outlives.
        let fresh_until = now.checked_add(ttl).unwrap_or(now + A_CENTURY);
        state.remove(&key);
        state.make_room(self.limits, size, now);
        let entry = Entry {
            result: own(result),
            fresh_until,
            stored: state.stored,
        };
        state.stored += 1;
        state.bytes += size;
        state.entries.insert(key, entry);
    }

    /// Forgets what became stale.
    pub(super) fn forget(&self, stale: Stale<'_>) {
        let mut state = self.state();
        state.generation += 1;
        state.retain(|key, _| !stale.covers(key));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= size(key, &entry.result);
        }
    }

    fn retain(&mut self, keep: impl Fn(&Key, &Entry) -> bool) {
        let bytes = &mut self.bytes;
        self.entries.retain(|key, entry| {
            let keep = keep(key, entry);
            if !keep {
                *bytes -= size(key, &entry.result);
            }
            keep
        });
    }

    fn make_room(&mut self, limits: CacheLimits, size: usize, now: Instant) {
        let full = |state: &Self| {
            state.entries.len() >= limits.entries || state.bytes + size > limits.bytes
        };
        if full(self) {
            self.retain(|_, entry| now < entry.fresh_until);
        }
        while full(self) {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.stored);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else {
                return;
            };
            self.remove(&key);
        }
    }
}

impl Stale<'_> {
    fn covers(self, key: &Key) -> bool {
        let name = key.method.as_str();
        match self {
            Self::Tools => name == method::TOOLS_LIST,
            Self::Prompts => name == method::PROMPTS_LIST,
            Self::Resources => {
                name == method::RESOURCES_LIST || name == method::RESOURCES_TEMPLATES_LIST
            }
            Self::Resource(uri) => {
                let related = |kept: &str| kept.starts_with(uri) || uri.starts_with(kept);
                let kept = key.params.get("uri");
                name == method::RESOURCES_READ
                    && kept.is_none_or(|kept| kept.text().is_none_or(|kept| related(&kept)))
            }
            Self::Method(method) => key.method == *method,
            Self::All => true,
        }
    }
}

const A_CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

fn size(key: &Key, result: &RawJson) -> usize {
    key.method.as_str().len() + key.params.as_bytes().len() + result.as_bytes().len()
}

/// A copy in a buffer of its own: a result may be a small slice of a large buffer, which would
/// otherwise stay in memory uncounted.
fn own(result: &RawJson) -> RawJson {
    RawJson::encode(result).expect("a JSON value can be written as JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(method: &str, params: &str) -> Key {
        Key {
            method: Method::new(method),
            params: json(params),
        }
    }

    fn json(text: &str) -> RawJson {
        serde_json::from_str(text).unwrap()
    }

    fn cache(entries: usize, bytes: usize) -> Cache {
        Cache::new(CacheLimits { entries, bytes })
    }

    fn keep(cache: &Cache, method: &str, params: &str, ttl_ms: u64, now: Instant) {
        let ttl = Duration::from_millis(ttl_ms);
        let result = json(&format!("[{params}]"));
        cache.keep(key(method, params), &result, ttl, now, cache.ticket());
    }

    /// The parameters of what is fresh, in the order asked.
    fn fresh(cache: &Cache, asked: &[(&str, &'static str)], now: Instant) -> Vec<&'static str> {
        let found = |(method, params): &&(&str, &str)| {
            let found = cache.find(&key(method, params), now);
            found.is_some_and(|result| result == json(&format!("[{params}]")))
        };
        asked
            .iter()
            .filter(found)
            .map(|(_, params)| *params)
            .collect()
    }

    #[test]
    fn a_result_is_fresh_until_its_time_is_over() {
        let cache = cache(8, 1000);
        let now = Instant::now();
        keep(&cache, "m", "1", 5, now);
        keep(&cache, "m", "2", 0, now);
        keep(&cache, "m", "3", u64::MAX, now);
        let asked = [("m", "1"), ("m", "2"), ("m", "3"), ("other", "1")];
        let after = |ms| now + Duration::from_millis(ms);
        assert_eq!(fresh(&cache, &asked, after(4)), ["1", "3"]);
        assert_eq!(fresh(&cache, &asked, after(5)), ["3"]);
    }

    #[test]
    fn the_oldest_make_way_when_there_are_too_many() {
        let cache = cache(2, 1000);
        let now = Instant::now();
        for params in ["1", "2", "3"] {
            keep(&cache, "m", params, 5, now);
        }
        let asked = [("m", "1"), ("m", "2"), ("m", "3")];
        assert_eq!(fresh(&cache, &asked, now), ["2", "3"]);
    }

    #[test]
    fn the_stale_make_way_before_the_fresh() {
        let cache = cache(2, 1000);
        let now = Instant::now();
        keep(&cache, "m", "1", 9, now);
        keep(&cache, "m", "2", 5, now);
        let later = now + Duration::from_millis(6);
        keep(&cache, "m", "3", 5, later);
        let asked = [("m", "1"), ("m", "2"), ("m", "3")];
        assert_eq!(fresh(&cache, &asked, later), ["1", "3"]);
    }

    #[test]
    fn bytes_are_bounded_and_a_result_over_the_limit_is_not_kept() {
        // Each entry counts 1 for the method, n for the params and n + 2 for the result.
        let cache = cache(100, 20);
        let now = Instant::now();
        for params in ["111", "222", "333", "1234567890"] {
            keep(&cache, "m", params, 5, now);
        }
        let asked = [
            ("m", "111"),
            ("m", "222"),
            ("m", "333"),
            ("m", "1234567890"),
        ];
        assert_eq!(fresh(&cache, &asked, now), ["222", "333"]);
        cache.forget(Stale::All);
        assert_eq!(cache.state().bytes, 0);
    }

    #[test]
    fn keeping_the_same_again_replaces_it() {
        let cache = cache(100, 1000);
        let now = Instant::now();
        keep(&cache, "m", "1", 1, now);
        let bytes = cache.state().bytes;
        keep(&cache, "m", "1", 5, now);
        assert_eq!(cache.state().bytes, bytes);
        let later = now + Duration::from_millis(4);
        assert_eq!(fresh(&cache, &[("m", "1")], later), ["1"]);
    }

    #[test]
    fn a_change_makes_stale_what_it_touches_and_nothing_else() {
        const ALL: [(&str, &str); 7] = [
            (method::SERVER_DISCOVER, "{}"),
            (method::TOOLS_LIST, r#"{"cursor":""}"#),
            (method::PROMPTS_LIST, "{ }"),
            (method::RESOURCES_LIST, "{  }"),
            (method::RESOURCES_TEMPLATES_LIST, "{   }"),
            (method::RESOURCES_READ, r#"{"uri":"file:///a/b"}"#),
            (method::RESOURCES_READ, r#"{"uri":"file:///c"}"#),
        ];
        let pages = Method::new(method::PROMPTS_LIST);
        for (stale, gone) in [
            (Stale::Tools, &[1][..]),
            (Stale::Prompts, &[2]),
            (Stale::Resources, &[3, 4]),
            (Stale::Resource("file:///a/b"), &[5]),
            (Stale::Resource("file:///a"), &[5]),
            (Stale::Resource("file:///c/d"), &[6]),
            (Stale::Resource("file:///x"), &[]),
            (Stale::Method(&pages), &[2]),
            (Stale::All, &[0, 1, 2, 3, 4, 5, 6]),
        ] {
            let cache = cache(100, 10_000);
            let now = Instant::now();
            for (method, params) in ALL {
                keep(&cache, method, params, 5, now);
            }
            cache.forget(stale);
            let stays = ALL
                .iter()
                .enumerate()
                .filter(|(index, _)| !gone.contains(index));
            let stays: Vec<&str> = stays.map(|(_, (_, params))| *params).collect();
            assert_eq!(fresh(&cache, &ALL, now), stays, "{stale:?}");
        }
    }

    #[test]
    fn what_became_stale_under_way_is_not_kept() {
        let cache = cache(100, 1000);
        let now = Instant::now();
        let ticket = cache.ticket();
        cache.forget(Stale::Tools);
        cache.keep(
            key("m", "1"),
            &json("1"),
            Duration::from_secs(1),
            now,
            ticket,
        );
        assert_eq!(cache.find(&key("m", "1"), now), None);
    }
}
