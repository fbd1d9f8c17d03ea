use std::collections::HashMap;
use std::sync::Arc;

use callgate_wire::RawJson;
use tokio::sync::OnceCell;

use crate::error::{Error, Kind};
use crate::legacy::client::http::HttpTransport;
use crate::legacy::client::session::Session;
use crate::mutex::Mutex;
use crate::service::Caller;

/// Table of our sessions with one old server: one for each caller and each set of capabilities.
///
/// Their number is limited, in all and for each caller. A new session beyond a limit replaces the idle
/// one that was used least recently: of all, or of its caller. A session with a running or suspended
/// call, or with a running task, is never replaced.
#[derive(Default)]
pub(crate) struct SessionTable(Mutex<TableState>);

#[derive(Default)]
struct TableState {
    entries: HashMap<Key, Entry>,
    /// Number of uses: the clock of `last_use`.
    uses: u64,
    closed: bool,
}

/// Key of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) caller: Caller,
    /// A `ClientCapabilities` object.
    pub(crate) capabilities: RawJson,
}

struct Entry {
    slot: Arc<SessionSlot>,
    last_use: u64,
}

/// A session, or the attempt to open one, which all calls that need it wait for.
///
/// It is in use as long as a call holds it, or a call is suspended or a task runs in it.
#[derive(Default)]
pub(crate) struct SessionSlot(OnceCell<Result<Opened, Error>>);

/// A session and its transport.
pub(crate) struct Opened {
    pub(crate) session: Arc<Session>,
    pub(crate) transport: Arc<HttpTransport>,
}

/// Maximum number of sessions. For one more, the idle one that was used least recently is ended; if all are
/// in use, the call is refused.
const MAX_SESSIONS: usize = 256;

/// Maximum number of sessions of one caller, which has one for each set of capabilities that it declares.
/// Otherwise a caller with a new set in each call could end the sessions of all others.
const MAX_CALLER_SESSIONS: usize = 64;

/// Maximum bytes of a set of capabilities, which the table keeps.
const MAX_CAPABILITIES: usize = 32 * 1024;

impl SessionTable {
    /// The slot of the session for `key`; a new one if there is none, or if its session has ended.
    pub(crate) fn slot(&self, key: Key) -> Result<Arc<SessionSlot>, Error> {
        let (slot, replaced) = self.0.lock().slot(key)?;
        // Dropped after the lock is released: the end of a session takes other locks.
        drop(replaced);
        Ok(slot)
    }

    /// Checks that the table opens sessions.
    ///
    /// # Errors
    /// The table was closed.
    pub(crate) fn check_open(&self) -> Result<(), Error> {
        self.0.lock().check_open()
    }

    /// Removes all sessions; those in use end with their calls.
    pub(crate) fn clear(&self) {
        let entries = std::mem::take(&mut self.0.lock().entries);
        drop(entries);
    }

    /// Ends all sessions, and opens no more.
    pub(crate) fn close(&self) {
        self.0.lock().closed = true;
        self.end_all();
    }

    /// Removes and ends all sessions.
    pub(crate) fn end_all(&self) {
        let entries = std::mem::take(&mut self.0.lock().entries);
        for entry in entries.values() {
            if let Some(Ok(opened)) = entry.slot.0.get() {
                opened.transport.close();
            }
        }
    }
}

impl TableState {
    fn check_open(&self) -> Result<(), Error> {
        match self.closed {
            true => Err(Error::new(Kind::Closed, "the connection was closed").retry_safe()),
            false => Ok(()),
        }
    }

    /// The slot for `key`, and the slot that it replaces.
    fn slot(&mut self, key: Key) -> Result<(Arc<SessionSlot>, Option<Arc<SessionSlot>>), Error> {
        self.check_open()?;
        self.uses += 1;
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.last_use = self.uses;
            let is_spent = entry.slot.is_spent();
            let spent = is_spent.then(|| std::mem::take(&mut entry.slot));
            return Ok((entry.slot.clone(), spent));
        }
        let key = key.owned()?;
        let evicted = self.make_room(&key.caller)?;
        let entry = Entry {
            slot: Arc::default(),
            last_use: self.uses,
        };
        let slot = entry.slot.clone();
        self.entries.insert(key, entry);
        Ok((slot, evicted))
    }

    /// Removes the session that a new one of `caller` replaces, if a limit is reached.
    fn make_room(&mut self, caller: &Caller) -> Result<Option<Arc<SessionSlot>>, Error> {
        let own = |(key, _): &(&Key, &Entry)| key.caller == *caller;
        // The caller's own limit comes first: at both, another caller's session must not be the one that ends.
        let (oldest, text) = if self.entries.iter().filter(own).count() >= MAX_CALLER_SESSIONS {
            let oldest = oldest_idle(self.entries.iter().filter(own));
            let text = "too many sessions of this caller with one server are in use";
            (oldest, text)
        } else if self.entries.len() >= MAX_SESSIONS {
            let oldest = oldest_idle(self.entries.iter());
            (oldest, "too many sessions with one server are in use")
        } else {
            return Ok(None);
        };
        let oldest = oldest.ok_or_else(|| Error::new(Kind::Busy, text).retry_safe())?;
        Ok(self.entries.remove(&oldest).map(|entry| entry.slot))
    }
}

impl Key {
    /// A copy to keep: a part of a call would keep all of it in memory.
    fn owned(self) -> Result<Self, Error> {
        if self.capabilities.as_bytes().len() > MAX_CAPABILITIES {
            let text = format!("the capabilities of a client may have {MAX_CAPABILITIES} bytes");
            return Err(Error::invalid_params(text));
        }
        let capabilities = RawJson::encode(&self.capabilities).expect("JSON is always JSON");
        Ok(Self {
            capabilities,
            ..self
        })
    }
}

fn oldest_idle<'e>(entries: impl Iterator<Item = (&'e Key, &'e Entry)>) -> Option<Key> {
    let idle = entries.filter(|(_, entry)| entry.is_idle());
    let oldest = idle.min_by_key(|(_, entry)| entry.last_use);
    oldest.map(|(key, _)| key.clone())
}

impl SessionSlot {
    /// The session, opened by `open` once for all calls that need it.
    pub(crate) async fn session(
        &self,
        open: impl Future<Output = Result<Opened, Error>>,
    ) -> Result<&Opened, Error> {
        let opened = self.0.get_or_init(|| open).await;
        opened.as_ref().map_err(Error::shared)
    }

    /// True if the session has ended or could not be opened.
    fn is_spent(&self) -> bool {
        match self.0.get() {
            Some(Ok(opened)) => opened.session.is_closed(),
            Some(Err(_)) => true,
            None => false,
        }
    }

    /// True if calls or tasks go on in the session without a request of their client.
    fn has_background_work(&self) -> bool {
        let opened = self.0.get().and_then(|outcome| outcome.as_ref().ok());
        opened.is_some_and(|Opened { session, .. }| {
            session.has_suspended_calls() || session.has_running_tasks()
        })
    }
}

impl Entry {
    fn is_idle(&self) -> bool {
        // The table holds one reference, and each call that uses the session another. Calls get theirs under
        // the lock of the table, so none appears while this is true.
        Arc::strong_count(&self.slot) == 1 && !self.slot.has_background_work()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Key {
        Key {
            caller: Caller::named(&number.to_string()),
            capabilities: RawJson::empty_object(),
        }
    }

    fn keys(sessions: &SessionTable) -> Vec<usize> {
        let state = sessions.0.lock();
        let number = |key: &Key| key.caller.principal().unwrap().name().parse().unwrap();
        let mut keys: Vec<usize> = state.entries.keys().map(number).collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn the_idle_session_that_was_used_least_recently_is_replaced() {
        let sessions = SessionTable::default();
        let in_use = sessions.slot(key(0)).unwrap();
        for number in 1..MAX_SESSIONS {
            sessions.slot(key(number)).unwrap();
        }
        sessions.slot(key(1)).unwrap();
        sessions.slot(key(MAX_SESSIONS)).unwrap();
        let expect: Vec<usize> = [0, 1].into_iter().chain(3..=MAX_SESSIONS).collect();
        assert_eq!(keys(&sessions), expect);
        assert!(Arc::ptr_eq(&in_use, &sessions.slot(key(0)).unwrap()));
    }

    #[test]
    fn if_all_sessions_are_in_use_another_is_refused() {
        let sessions = SessionTable::default();
        let _in_use: Vec<_> = (0..MAX_SESSIONS)
            .map(|number| sessions.slot(key(number)).unwrap())
            .collect();
        let refused = sessions.slot(key(MAX_SESSIONS)).err().unwrap();
        assert_eq!(refused.kind(), Kind::Busy);
        assert!(sessions.slot(key(0)).is_ok());
    }

    /// A key of caller 0 with one more set of capabilities.
    fn other_key(number: usize) -> Key {
        let name = number.to_string();
        let capabilities = serde_json::json!({ "experimental": { name: {} } });
        Key {
            capabilities: RawJson::encode(&capabilities).unwrap(),
            ..key(0)
        }
    }

    #[test]
    fn a_caller_with_many_sets_of_capabilities_replaces_its_own_sessions_only() {
        let sessions = SessionTable::default();
        for number in 1..MAX_SESSIONS {
            sessions.slot(key(number)).unwrap();
        }
        for number in 0..2 * MAX_SESSIONS {
            sessions.slot(other_key(number)).unwrap();
        }
        let own = keys(&sessions).iter().filter(|&&key| key == 0).count();
        assert_eq!(own, MAX_CALLER_SESSIONS);
        let others = MAX_SESSIONS - MAX_CALLER_SESSIONS;
        assert_eq!(keys(&sessions).len(), own + others);
    }

    #[test]
    fn if_all_sessions_of_a_caller_are_in_use_another_of_it_is_refused() {
        let sessions = SessionTable::default();
        let _in_use: Vec<_> = (0..MAX_CALLER_SESSIONS)
            .map(|number| sessions.slot(other_key(number)).unwrap())
            .collect();
        let refused = sessions.slot(key(0)).err().unwrap();
        assert_eq!(refused.kind(), Kind::Busy);
        assert!(sessions.slot(key(1)).is_ok());
    }

    #[tokio::test]
    async fn a_failure_is_shared_and_then_tried_again() {
        let sessions = SessionTable::default();
        let (first, second) = (
            sessions.slot(key(0)).unwrap(),
            sessions.slot(key(0)).unwrap(),
        );
        let failing = async { Err(Error::internal("refused")) };
        assert!(first.session(failing).await.is_err());
        let waiting = second.session(std::future::pending()).await;
        assert_eq!(waiting.err().unwrap().to_string(), "refused");
        assert!(!Arc::ptr_eq(&first, &sessions.slot(key(0)).unwrap()));
    }

    #[test]
    fn a_session_keeps_nothing_of_the_call_that_opened_it_but_the_capabilities() {
        struct Tracked(
            Vec<u8>,
            #[expect(dead_code, reason = "it counts owners")] Arc<()>,
        );

        impl AsRef<[u8]> for Tracked {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }

        let sessions = SessionTable::default();
        let opened = |capabilities: &str| {
            let padding = "x".repeat(1_000_000);
            let text = format!(r#"{{"capabilities":{capabilities},"padding":"{padding}"}}"#);
            let alive = Arc::new(());
            let bytes = bytes::Bytes::from_owner(Tracked(text.into_bytes(), alive.clone()));
            let params = RawJson::parse(bytes, &callgate_wire::Limits::default()).unwrap();
            let key = Key {
                capabilities: params.get("capabilities").unwrap(),
                ..key(0)
            };
            (sessions.slot(key), alive)
        };
        let (slot, call) = opened(r#"{"roots":{}}"#);
        assert_eq!(Arc::strong_count(&call), 1);
        let again = opened(r#"{"roots":{}}"#).0;
        assert!(Arc::ptr_eq(&slot.unwrap(), &again.unwrap()));
        let large = format!(r#"{{"x":"{}"}}"#, "x".repeat(MAX_CAPABILITIES));
        assert_eq!(
            opened(&large).0.err().unwrap().to_string(),
            "the capabilities of a client may have 32768 bytes"
        );
    }

    #[test]
    fn a_closed_table_opens_no_session() {
        let sessions = SessionTable::default();
        sessions.slot(key(0)).unwrap();
        sessions.close();
        assert_eq!(sessions.slot(key(0)).err().unwrap().kind(), Kind::Closed);
        assert_eq!(keys(&sessions), Vec::<usize>::new());
    }
}
