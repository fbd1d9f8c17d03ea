use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgate_wire::RawJson;
use tokio::sync::OnceCell;

use super::http::{Streamable, TwoEndpoints};
use super::session::Session;
use crate::error::{Error, Kind};
use crate::service::Caller;

/// The sessions with one old server, one for each caller and each set of capabilities.
///
/// There are only so many. Where there is no room for another, the one that has rested longest makes
/// way; none does in which a call is made or waits for input.
#[derive(Default)]
pub(super) struct Sessions(Mutex<State>);

#[derive(Default)]
struct State {
    entries: HashMap<Key, Entry>,
    /// Counts uses, as a clock.
    uses: u64,
    closed: bool,
}

/// Whom a session is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) caller: Caller,
    /// A `ClientCapabilities` object.
    pub(super) capabilities: RawJson,
}

struct Entry {
    place: Arc<Place>,
    last_use: u64,
}

/// A session, or the attempt to open one, which all who need it wait for.
///
/// It is in use as long as anybody else holds it, or calls wait in it for their clients.
#[derive(Default)]
pub(super) struct Place(OnceCell<Result<Opened, Error>>);

/// A session and what carries it.
pub(super) struct Opened {
    pub(super) session: Arc<Session>,
    pub(super) carrier: Carrier,
}

/// What carries a session.
pub(super) enum Carrier {
    Streamable(Arc<Streamable>),
    TwoEndpoints(Arc<TwoEndpoints>),
}

/// How many sessions there are at once.
const MOST: usize = 256;

impl Sessions {
    /// The place of the session for `key`: a new one where there is none that lasts.
    pub(super) fn place(&self, key: Key) -> Result<Arc<Place>, Error> {
        // What makes way is dropped after the lock is released.
        let mut evicted = None;
        let mut state = self.state();
        if state.closed {
            return Err(Error::new(Kind::Closed, "the connection was closed").retry_safe());
        }
        state.uses += 1;
        let last_use = state.uses;
        if let Some(entry) = state.entries.get_mut(&key) {
            entry.last_use = last_use;
            if entry.place.is_spent() {
                evicted = Some(std::mem::take(&mut entry.place));
            }
            let place = entry.place.clone();
            drop(state);
            drop(evicted);
            return Ok(place);
        }
        if state.entries.len() >= MOST {
            let idle = state.entries.iter().filter(|(_, entry)| entry.is_idle());
            let oldest = idle.min_by_key(|(_, entry)| entry.last_use);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                let text = "too many sessions with one server are in use";
                return Err(Error::new(Kind::Busy, text).retry_safe());
            };
            evicted = state.entries.remove(&oldest).map(|entry| entry.place);
        }
        let place = Arc::<Place>::default();
        let entry = Entry {
            place: place.clone(),
            last_use,
        };
        state.entries.insert(key, entry);
        drop(state);
        drop(evicted);
        Ok(place)
    }

    /// Lets go of all sessions; those in use end with their calls.
    pub(super) fn clear(&self) {
        let entries = std::mem::take(&mut self.state().entries);
        drop(entries);
    }

    /// Ends all sessions, and opens no more.
    pub(super) fn close(&self) {
        let entries = {
            let mut state = self.state();
            state.closed = true;
            std::mem::take(&mut state.entries)
        };
        for entry in entries.values() {
            if let Some(Ok(opened)) = entry.place.0.get() {
                opened.carrier.close();
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// The session: opened by one, and waited for by all others.
    pub(super) async fn session(
        &self,
        open: impl Future<Output = Result<Opened, Error>>,
    ) -> Result<Arc<Session>, Error> {
        match self.0.get_or_init(|| open).await {
            Ok(opened) => Ok(opened.session.clone()),
            Err(error) => Err(error.shared()),
        }
    }

    /// Whether nothing more can come of it.
    fn is_spent(&self) -> bool {
        match self.0.get() {
            Some(Ok(opened)) => opened.session.is_over(),
            Some(Err(_)) => true,
            None => false,
        }
    }

    fn has_parked_calls(&self) -> bool {
        let opened = self.0.get().and_then(|outcome| outcome.as_ref().ok());
        opened.is_some_and(|opened| opened.session.has_parked_calls())
    }
}

impl Entry {
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.place) == 1 && !self.place.has_parked_calls()
    }
}

impl Carrier {
    fn close(&self) {
        match self {
            Self::Streamable(transport) => transport.close(),
            Self::TwoEndpoints(transport) => transport.close(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Key {
        Key {
            caller: Caller::Principal(number.to_string().into()),
            capabilities: RawJson::empty_object(),
        }
    }

    fn keys(sessions: &Sessions) -> Vec<usize> {
        let state = sessions.state();
        let number = |key: &Key| match &key.caller {
            Caller::Principal(name) => name.parse().unwrap(),
            other => panic!("not a principal: {other:?}"),
        };
        let mut keys: Vec<usize> = state.entries.keys().map(number).collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn the_session_that_rested_longest_makes_way() {
        let sessions = Sessions::default();
        let in_use = sessions.place(key(0)).unwrap();
        for number in 1..MOST {
            sessions.place(key(number)).unwrap();
        }
        sessions.place(key(1)).unwrap();
        sessions.place(key(MOST)).unwrap();
        let expect: Vec<usize> = [0, 1].into_iter().chain(3..=MOST).collect();
        assert_eq!(keys(&sessions), expect);
        assert!(Arc::ptr_eq(&in_use, &sessions.place(key(0)).unwrap()));
    }

    #[test]
    fn where_all_are_in_use_another_is_refused() {
        let sessions = Sessions::default();
        let _in_use: Vec<_> = (0..MOST)
            .map(|number| sessions.place(key(number)).unwrap())
            .collect();
        let refused = sessions.place(key(MOST)).err().unwrap();
        assert_eq!(refused.kind(), Kind::Busy);
        assert!(sessions.place(key(0)).is_ok());
    }

    #[tokio::test]
    async fn a_failure_is_shared_and_then_tried_again() {
        let sessions = Sessions::default();
        let (first, second) = (
            sessions.place(key(0)).unwrap(),
            sessions.place(key(0)).unwrap(),
        );
        let failing = async { Err(Error::internal("refused")) };
        assert!(first.session(failing).await.is_err());
        let waiting = second.session(std::future::pending()).await;
        assert_eq!(waiting.err().unwrap().to_string(), "refused");
        assert!(!Arc::ptr_eq(&first, &sessions.place(key(0)).unwrap()));
    }

    #[test]
    fn after_the_end_nothing_is_opened() {
        let sessions = Sessions::default();
        sessions.place(key(0)).unwrap();
        sessions.close();
        assert_eq!(sessions.place(key(0)).err().unwrap().kind(), Kind::Closed);
        assert_eq!(keys(&sessions), Vec::<usize>::new());
    }
}
