use std::collections::HashMap;
use std::time::Duration;

use callgate_wire::{Method, RawJson, method};
use tokio::time::Instant;

use crate::layer::LONGEST;
use crate::mutex::Mutex;

/// Cache of results, each for the time to live that the server gave it.
///
/// A cache belongs to one client and so to one authorization: results of `private` and of `public`
/// cache scope may both be in it.
#[derive(Debug)]
pub(super) struct ResultCache {
    max_entries: usize,
    max_bytes: usize,
    state: Mutex<CacheState>,
}

/// Request whose result is cached.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CacheKey {
    /// The method.
    pub(super) method: Method,
    /// The parameters that decide the result: all but `_meta`.
    pub(super) params: RawJson,
}

/// Set of cached results to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Invalidation<'a> {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The lists of resources, templates and skills.
    Resources,
    /// The resource with this URI, and those above and below it.
    Resource(&'a str),
    /// All pages of this list.
    Method(&'a Method),
    /// Everything.
    All,
}

#[derive(Debug, Default)]
struct CacheState {
    entries: HashMap<CacheKey, CacheEntry>,
    bytes: usize,
    /// Number of inserts so far, which numbers the entries by age.
    inserts: u64,
    /// Number of invalidations so far.
    generation: u64,
}

#[derive(Debug)]
struct CacheEntry {
    result: RawJson,
    fresh_until: Instant,
    number: u64,
}

impl ResultCache {
    /// Makes an empty cache.
    pub(super) fn new(max_entries: usize, max_bytes: usize) -> Self {
        Self {
            max_entries,
            max_bytes,
            state: Mutex::default(),
        }
    }

    /// Returns the cached result for `key` if it is fresh at `now`.
    pub(super) fn get(&self, key: &CacheKey, now: Instant) -> Option<RawJson> {
        let mut state = self.state.lock();
        let entry = state.entries.get(key)?;
        if now < entry.fresh_until {
            return Some(entry.result.clone());
        }
        state.remove(key);
        None
    }

    /// Returns the number of invalidations so far, for [`ResultCache::insert`].
    ///
    /// It is read before a request is sent; the result is cached only if it is the same afterward.
    pub(super) fn generation(&self) -> u64 {
        self.state.lock().generation
    }

    /// Caches `result` for `ttl` from `now` on, and evicts others if the cache is full.
    pub(super) fn insert(
        &self,
        key: CacheKey,
        result: &RawJson,
        ttl: Duration,
        now: Instant,
        generation: u64,
    ) {
        let mut state = self.state.lock();
        let size = size(&key, result);
        let current = ttl > Duration::ZERO && state.generation == generation;
        if !current || size > self.max_bytes || self.max_entries == 0 {
            return;
        }
        // A time to live too long to add is cut to one that no process outlives.
        let fresh_until = now + ttl.min(LONGEST);
        state.remove(&key);
        state.evict(self.max_entries - 1, self.max_bytes - size, now);
        let entry = CacheEntry {
            result: own(result),
            fresh_until,
            number: state.inserts,
        };
        state.inserts += 1;
        state.bytes += size;
        state.entries.insert(key, entry);
    }

    /// Removes the results that a change has made stale.
    pub(super) fn invalidate(&self, stale: Invalidation<'_>) {
        let mut state = self.state.lock();
        state.generation += 1;
        state.retain(|key, _| !stale.covers(key));
    }
}

impl CacheState {
    fn remove(&mut self, key: &CacheKey) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= size(key, &entry.result);
        }
    }

    fn retain(&mut self, keep: impl Fn(&CacheKey, &CacheEntry) -> bool) {
        let bytes = &mut self.bytes;
        self.entries.retain(|key, entry| {
            let keep = keep(key, entry);
            if !keep {
                *bytes -= size(key, &entry.result);
            }
            keep
        });
    }

    /// Evicts until at most so many entries and bytes are left: first what is no longer fresh,
    /// since it is of no use, then the oldest.
    fn evict(&mut self, max_entries: usize, max_bytes: usize, now: Instant) {
        let full = |state: &Self| state.entries.len() > max_entries || state.bytes > max_bytes;
        if full(self) {
            self.retain(|_, entry| now < entry.fresh_until);
        }
        while full(self) {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.number);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else {
                return;
            };
            self.remove(&key);
        }
    }
}

impl Invalidation<'_> {
    fn covers(self, key: &CacheKey) -> bool {
        let name = key.method.as_str();
        match self {
            Self::Tools => name == method::TOOLS_LIST,
            Self::Prompts => name == method::PROMPTS_LIST,
            // Skills have no notification of their own, but a change of theirs is one of resources.
            Self::Resources => {
                name == method::RESOURCES_LIST
                    || name == method::RESOURCES_TEMPLATES_LIST
                    || name == method::SKILLS_LIST
            }
            // A server may announce a change of the resource subscribed to or of one below it,
            // and reading a resource may return those below it.
            Self::Resource(uri) => {
                let related = |cached: &str| cached.starts_with(uri) || uri.starts_with(cached);
                let cached = key.params.get("uri");
                name == method::RESOURCES_READ
                    && cached.is_none_or(|cached| cached.text().is_none_or(|text| related(&text)))
            }
            Self::Method(method) => key.method == *method,
            Self::All => true,
        }
    }
}

fn size(key: &CacheKey, result: &RawJson) -> usize {
    key.method.as_str().len() + key.params.as_bytes().len() + result.as_bytes().len()
}

/// Copies a result into a buffer of its own. It may be a small slice of a large buffer, which would
/// otherwise stay in memory uncounted.
fn own(result: &RawJson) -> RawJson {
    RawJson::encode(result).expect("a JSON value can be written as JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(method: &str, params: &str) -> CacheKey {
        CacheKey {
            method: Method::new(method),
            params: json(params),
        }
    }

    fn json(text: &str) -> RawJson {
        serde_json::from_str(text).unwrap()
    }

    fn cache(entries: usize, bytes: usize) -> ResultCache {
        ResultCache::new(entries, bytes)
    }

    fn insert(cache: &ResultCache, method: &str, params: &str, ttl_ms: u64, now: Instant) {
        let ttl = Duration::from_millis(ttl_ms);
        let result = json(&format!("[{params}]"));
        cache.insert(key(method, params), &result, ttl, now, cache.generation());
    }

    /// Returns the parameters of the fresh results, in the order of `asked`.
    fn fresh(
        cache: &ResultCache,
        asked: &[(&str, &'static str)],
        now: Instant,
    ) -> Vec<&'static str> {
        let found = |(method, params): &&(&str, &str)| {
            let found = cache.get(&key(method, params), now);
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
        insert(&cache, "m", "1", 5, now);
        insert(&cache, "m", "2", 0, now);
        insert(&cache, "m", "3", u64::MAX, now);
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
            insert(&cache, "m", params, 5, now);
        }
        let asked = [("m", "1"), ("m", "2"), ("m", "3")];
        assert_eq!(fresh(&cache, &asked, now), ["2", "3"]);
    }

    #[test]
    fn the_stale_make_way_before_the_fresh() {
        let cache = cache(2, 1000);
        let now = Instant::now();
        insert(&cache, "m", "1", 9, now);
        insert(&cache, "m", "2", 5, now);
        let later = now + Duration::from_millis(6);
        insert(&cache, "m", "3", 5, later);
        let asked = [("m", "1"), ("m", "2"), ("m", "3")];
        assert_eq!(fresh(&cache, &asked, later), ["1", "3"]);
    }

    #[test]
    fn bytes_are_bounded_and_a_result_over_the_limit_is_not_cached() {
        // Each entry counts 1 for the method, n for the params and n + 2 for the result.
        let cache = cache(100, 20);
        let now = Instant::now();
        for params in ["111", "222", "333", "1234567890"] {
            insert(&cache, "m", params, 5, now);
        }
        let asked = [
            ("m", "111"),
            ("m", "222"),
            ("m", "333"),
            ("m", "1234567890"),
        ];
        assert_eq!(fresh(&cache, &asked, now), ["222", "333"]);
        cache.invalidate(Invalidation::All);
        assert_eq!(cache.state.lock().bytes, 0);
    }

    #[test]
    fn inserting_the_same_key_again_replaces_the_result() {
        let cache = cache(100, 1000);
        let now = Instant::now();
        insert(&cache, "m", "1", 1, now);
        let bytes = cache.state.lock().bytes;
        insert(&cache, "m", "1", 5, now);
        assert_eq!(cache.state.lock().bytes, bytes);
        let later = now + Duration::from_millis(4);
        assert_eq!(fresh(&cache, &[("m", "1")], later), ["1"]);
    }

    #[test]
    fn a_change_makes_only_its_own_entries_stale() {
        const ALL: [(&str, &str); 8] = [
            (method::SERVER_DISCOVER, "{}"),
            (method::TOOLS_LIST, r#"{"cursor":""}"#),
            (method::PROMPTS_LIST, "{ }"),
            (method::RESOURCES_LIST, "{  }"),
            (method::RESOURCES_TEMPLATES_LIST, "{   }"),
            (method::RESOURCES_READ, r#"{"uri":"file:///a/b"}"#),
            (method::RESOURCES_READ, r#"{"uri":"file:///c"}"#),
            (method::SKILLS_LIST, "{    }"),
        ];
        let pages = Method::new(method::PROMPTS_LIST);
        for (stale, gone) in [
            (Invalidation::Tools, &[1][..]),
            (Invalidation::Prompts, &[2]),
            (Invalidation::Resources, &[3, 4, 7]),
            (Invalidation::Resource("file:///a/b"), &[5]),
            (Invalidation::Resource("file:///a"), &[5]),
            (Invalidation::Resource("file:///c/d"), &[6]),
            (Invalidation::Resource("file:///x"), &[]),
            (Invalidation::Method(&pages), &[2]),
            (Invalidation::All, &[0, 1, 2, 3, 4, 5, 6, 7]),
        ] {
            let cache = cache(100, 10_000);
            let now = Instant::now();
            for (method, params) in ALL {
                insert(&cache, method, params, 5, now);
            }
            cache.invalidate(stale);
            let stays = ALL
                .iter()
                .enumerate()
                .filter(|(index, _)| !gone.contains(index));
            let stays: Vec<&str> = stays.map(|(_, (_, params))| *params).collect();
            assert_eq!(fresh(&cache, &ALL, now), stays, "{stale:?}");
        }
    }

    #[test]
    fn a_result_that_became_stale_in_flight_is_not_cached() {
        let cache = cache(100, 1000);
        let now = Instant::now();
        let generation = cache.generation();
        cache.invalidate(Invalidation::Tools);
        cache.insert(
            key("m", "1"),
            &json("1"),
            Duration::from_secs(1),
            now,
            generation,
        );
        assert_eq!(cache.get(&key("m", "1"), now), None);
    }
}
