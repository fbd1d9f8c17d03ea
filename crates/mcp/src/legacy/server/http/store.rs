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
        let place = self.take_place(caller);
        if place.is_ok() {
            return place;
        }
        // Some may be taken by sessions that are over and were not looked at yet.
        self.sweep(Instant::now());
        self.take_place(caller)
    }

    fn take_place(self: &Arc<Self>, caller: &Caller) -> Result<Place, Full> {
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
        let kept: Vec<Arc<Entry>> = self.unheard();
        for entry in kept {
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
