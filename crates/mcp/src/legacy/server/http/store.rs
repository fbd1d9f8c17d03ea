use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::time::Instant;

use super::entry::{Door, Entry};
use super::session_id::SessionId;
use crate::legacy::server::Config;
use crate::service::Caller;

/// The sessions of a server. Dropping it closes them all.
pub(super) struct Store {
    config: Config,
    sessions: Mutex<Sessions>,
}

#[derive(Default)]
struct Sessions {
    by_id: HashMap<SessionId, Held>,
    /// How many places are taken, by sessions and by handshakes.
    taken: usize,
    taken_by: HashMap<Caller, usize>,
}

struct Held {
    entry: Arc<Entry>,
    _place: Place,
}

/// A place for one session, free again when dropped.
pub(super) struct Place {
    store: Weak<Store>,
    caller: Caller,
}

/// Why there is no place for another session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    /// The caller has all it may have.
    Caller,
    /// There are as many as there may be.
    Server,
}

impl Store {
    pub(super) fn new(config: Config) -> Arc<Self> {
        Arc::new(Self {
            config,
            sessions: Mutex::default(),
        })
    }

    /// Takes a place for a session of `caller`.
    pub(super) fn reserve(self: &Arc<Self>, caller: &Caller) -> Result<Place, Full> {
        let mut sessions = self.sessions();
        if sessions.taken >= self.config.sessions {
            return Err(Full::Server);
        }
        let of_caller = sessions.taken_by.get(caller).copied().unwrap_or(0);
        if of_caller >= self.config.sessions_per_caller {
            return Err(Full::Caller);
        }
        sessions.taken_by.insert(caller.clone(), of_caller + 1);
        sessions.taken += 1;
        Ok(Place {
            store: Arc::downgrade(self),
            caller: caller.clone(),
        })
    }

    /// Gives a session its place and its secret name.
    pub(super) fn insert(&self, place: Place, entry: Arc<Entry>) -> SessionId {
        let id = SessionId::random();
        let held = Held {
            entry,
            _place: place,
        };
        self.sessions().by_id.insert(id, held);
        id
    }

    /// The session `id`, if it is one that `caller` may enter by `door`.
    ///
    /// For everybody else it does not exist, and finding that out is the same work.
    pub(super) fn find(&self, id: &SessionId, caller: &Caller, door: Door) -> Option<Arc<Entry>> {
        let sessions = self.sessions();
        let held = sessions.by_id.get(id);
        let entry = held.map(|held| &held.entry);
        entry.filter(|entry| entry.admits(caller, door)).cloned()
    }

    /// Closes the session `id`.
    pub(super) fn remove(&self, id: &SessionId) {
        let held = self.sessions().by_id.remove(id);
        if let Some(held) = held {
            held.entry.close();
        }
    }

    /// Closes the sessions that have rested for too long.
    pub(super) fn sweep(&self, now: Instant) {
        let expired: Vec<Held> = {
            let mut sessions = self.sessions();
            let expired = sessions
                .by_id
                .extract_if(|_, held| held.entry.is_expired(now, &self.config));
            expired.map(|(_, held)| held).collect()
        };
        for held in expired {
            held.entry.close();
        }
        for entry in self.unheard() {
            entry.rest_ears(now, &self.config);
        }
    }

    /// The sessions that listen for somebody who does not hear them.
    fn unheard(&self) -> Vec<Arc<Entry>> {
        let sessions = self.sessions();
        let entries = sessions.by_id.values().map(|held| &held.entry);
        entries
            .filter(|entry| entry.streams().unheard_since().is_some())
            .cloned()
            .collect()
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        for held in self.sessions().by_id.values() {
            held.entry.close();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(store) = self.store.upgrade() else {
            return;
        };
        let mut sessions = store.sessions();
        sessions.taken -= 1;
        if let Some(of_caller) = sessions.taken_by.get_mut(&self.caller) {
            *of_caller -= 1;
            if *of_caller == 0 {
                sessions.taken_by.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use callgate_wire::Version;
    use tokio::time::advance;

    use super::*;
    use crate::error::Error;
    use crate::legacy::server::http::streams::Keep;
    use crate::legacy::server::session::Session;
    use crate::service::{BoxFuture, Call, Reply, Service};

    struct Nobody;

    impl Service for Nobody {
        fn call(&self, _: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            Box::pin(std::future::pending())
        }
    }

    fn config() -> Config {
        Config {
            sessions: 3,
            sessions_per_caller: 2,
            idle: Duration::from_secs(100),
            unused: Duration::from_secs(10),
            ..Config::default()
        }
    }

    fn caller(name: &str) -> Caller {
        Caller::Principal(name.into())
    }

    fn entry(caller: &Caller, door: Door) -> Arc<Entry> {
        let service = Arc::new(Nobody);
        let version = Version::V2025_11_25;
        let session = Session::without_handshake(service, caller.clone(), version, config());
        Arc::new(Entry::of(session, caller.clone(), door, &config()))
    }

    fn open(store: &Arc<Store>, caller: &Caller) -> SessionId {
        let place = store.reserve(caller).ok().unwrap();
        store.insert(place, entry(caller, Door::Header))
    }

    fn is_open(store: &Store, id: &SessionId, caller: &Caller) -> bool {
        store.find(id, caller, Door::Header).is_some()
    }

    #[tokio::test]
    async fn a_session_exists_only_for_who_opened_it_and_by_its_door() {
        let store = Store::new(config());
        let (ann, bob) = (caller("ann"), caller("bob"));
        let id = open(&store, &ann);
        assert!(is_open(&store, &id, &ann));
        assert!(!is_open(&store, &id, &bob));
        assert!(!is_open(&store, &id, &Caller::Anonymous));
        assert!(store.find(&id, &ann, Door::Query).is_none());
        assert!(!is_open(&store, &SessionId::random(), &ann));
        store.remove(&id);
        assert!(!is_open(&store, &id, &ann));
    }

    #[tokio::test]
    async fn places_are_counted_for_all_and_for_each() {
        let store = Store::new(config());
        let (ann, bob) = (caller("ann"), caller("bob"));
        let id = open(&store, &ann);
        let unfinished = store.reserve(&ann).ok().unwrap();
        assert_eq!(store.reserve(&ann).err(), Some(Full::Caller));
        open(&store, &bob);
        assert_eq!(store.reserve(&bob).err(), Some(Full::Server));
        drop(unfinished);
        let place = store.reserve(&bob).ok().unwrap();
        store.remove(&id);
        drop(place);
        assert_eq!(store.sessions().taken, 1);
        assert_eq!(store.sessions().taken_by, HashMap::from([(bob, 1)]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_that_rests_too_long_is_closed() {
        let store = Store::new(config());
        let ann = caller("ann");
        let unused = open(&store, &ann);
        let used = open(&store, &ann);
        let touch = |id| store.find(id, &ann, Door::Header).unwrap().touch();
        touch(&used);
        advance(Duration::from_secs(9)).await;
        store.sweep(Instant::now());
        assert!(is_open(&store, &unused, &ann) && is_open(&store, &used, &ann));
        advance(Duration::from_secs(1)).await;
        store.sweep(Instant::now());
        assert!(!is_open(&store, &unused, &ann) && is_open(&store, &used, &ann));
        advance(Duration::from_secs(80)).await;
        touch(&used);
        advance(Duration::from_secs(99)).await;
        store.sweep(Instant::now());
        assert!(is_open(&store, &used, &ann));
        advance(Duration::from_secs(1)).await;
        store.sweep(Instant::now());
        assert!(!is_open(&store, &used, &ann));
        assert_eq!(store.sessions().taken, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_nobody_comes_back_for_is_listened_to_no_longer() {
        let store = Store::new(config());
        let ann = caller("ann");
        let id = open(&store, &ann);
        let entry = store.find(&id, &ann, Door::Header).unwrap();
        entry.touch();
        let source = entry.streams().open_general(Keep::Events);
        entry.listen();
        advance(Duration::from_secs(500)).await;
        store.sweep(Instant::now());
        assert!(is_open(&store, &id, &ann));
        drop(source);
        advance(Duration::from_secs(9)).await;
        store.sweep(Instant::now());
        assert!(entry.streams().unheard_since().is_some());
        advance(Duration::from_secs(1)).await;
        store.sweep(Instant::now());
        assert_eq!(entry.streams().unheard_since(), None);
    }
}
