use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tokio::time::{Instant, sleep};

use super::streams::Streams;
use crate::legacy::server::session::{Session, conversation_key};
use crate::mutex::Mutex;
use crate::seal::random;
use crate::server::{CallerBudget, SessionLimits};
use crate::service::Caller;

/// Sessions of all old clients of a server. Dropping it closes them.
pub(super) struct SessionTable {
    config: SessionLimits,
    sessions: Mutex<Sessions>,
}

#[derive(Default)]
struct Sessions {
    by_id: HashMap<SessionId, TableRow>,
    /// Number of slots in use, by sessions and by handshakes under way.
    taken: usize,
    taken_by: HashMap<Caller, usize>,
    /// Time before which no session of a caller gives way.
    ///
    /// A flood of handshakes is refused by it, without a search for a session to close each time.
    full_until: HashMap<Caller, Instant>,
    /// True while a task closes expired sessions. It runs only while there are sessions.
    is_swept: bool,
}

struct TableRow {
    entry: Arc<SessionEntry>,
    _slot: SessionSlot,
}

/// Slot for one session, free again when dropped.
pub(super) struct SessionSlot {
    table: Weak<SessionTable>,
    caller: Caller,
}

/// Reason why another session cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TableFull {
    pub(super) limit: SessionLimit,
    /// Time after which a session may give way.
    pub(super) retry_after: Duration,
}

/// Limit of the number of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionLimit {
    /// The caller has too many.
    Caller,
    /// The server has too many.
    Server,
}

/// Time for which a session is left alone after its client has used it, even if the table is full: a
/// client that has just opened a session must be able to use it.
const LEFT_ALONE: Duration = Duration::from_secs(5);

impl SessionTable {
    pub(super) fn new(config: SessionLimits) -> Arc<Self> {
        Arc::new(Self {
            config,
            sessions: Mutex::default(),
        })
    }

    /// Takes a slot for a session of `caller`.
    ///
    /// At a limit an idle session is closed for it: one whose client never came back if there is one,
    /// else the least recently used. At the limit of the server it is a session of the caller that has
    /// the most, so that one caller cannot take all slots from the others.
    pub(super) fn reserve(self: &Arc<Self>, caller: &Caller) -> Result<SessionSlot, TableFull> {
        let mut sessions = self.sessions.lock();
        let of_caller = sessions.taken_by.get(caller).copied().unwrap_or(0);
        // The limit of the caller comes first: a caller at its own limit displaces no session of another.
        let limit = if of_caller >= self.config.sessions_per_caller {
            Some(SessionLimit::Caller)
        } else if sessions.taken >= self.config.sessions {
            Some(SessionLimit::Server)
        } else {
            None
        };
        let closed = match limit {
            Some(limit) => Some(sessions.give_way(limit, caller, Instant::now())?),
            None => None,
        };
        *sessions.taken_by.entry(caller.clone()).or_default() += 1;
        sessions.taken += 1;
        drop(sessions);
        // Dropping its slot locks the table.
        if let Some(row) = closed {
            row.entry.close();
        }
        Ok(SessionSlot {
            table: Arc::downgrade(self),
            caller: caller.clone(),
        })
    }

    /// Adds a session under a new secret id.
    pub(super) fn insert(
        self: &Arc<Self>,
        slot: SessionSlot,
        entry: Arc<SessionEntry>,
    ) -> SessionId {
        let id = SessionId::random();
        let row = TableRow { entry, _slot: slot };
        let mut sessions = self.sessions.lock();
        sessions.by_id.insert(id, row);
        if !std::mem::replace(&mut sessions.is_swept, true) {
            // One task while there are sessions: a server without old clients has none.
            tokio::spawn(sweep(Arc::downgrade(self), sweep_interval(&self.config)));
        }
        id
    }

    /// The session `id`, if `caller` owns it and it uses this transport.
    ///
    /// For other callers it does not exist, and the lookup takes the same time.
    pub(super) fn find(
        &self,
        id: &SessionId,
        caller: &Caller,
        transport: SessionTransport,
    ) -> Option<Arc<SessionEntry>> {
        let sessions = self.sessions.lock();
        let row = sessions.by_id.get(id);
        let entry = row.map(|row| &row.entry);
        entry
            .filter(|entry| entry.admits(caller, transport))
            .cloned()
    }

    /// Closes the session `id`.
    pub(super) fn remove(&self, id: &SessionId) {
        let row = self.sessions.lock().by_id.remove(id);
        if let Some(row) = row {
            row.entry.close();
        }
    }

    /// Closes expired sessions, and stops listening for those whose clients do not read.
    fn sweep(&self, now: Instant) {
        let expired: Vec<TableRow> = {
            let mut sessions = self.sessions.lock();
            let expired = sessions
                .by_id
                .extract_if(|_, row| row.entry.is_expired(now, &self.config));
            expired.map(|(_, row)| row).collect()
        };
        // Without the lock, which the slots take when they are dropped.
        for row in expired {
            row.entry.close();
        }
        for entry in self.unread() {
            entry.stop_unread_listening(now, &self.config);
        }
    }

    /// Sessions whose general stream is not read.
    fn unread(&self) -> Vec<Arc<SessionEntry>> {
        let sessions = self.sessions.lock();
        let entries = sessions.by_id.values().map(|row| &row.entry);
        entries
            .filter(|entry| entry.streams().unread_since().is_some())
            .cloned()
            .collect()
    }
}

impl Sessions {
    /// Removes the session that gives way to one of `caller` at this limit.
    fn give_way(
        &mut self,
        limit: SessionLimit,
        caller: &Caller,
        now: Instant,
    ) -> Result<TableRow, TableFull> {
        let loser = match limit {
            SessionLimit::Caller => caller,
            SessionLimit::Server => self.largest_holder(caller),
        };
        let loser = loser.clone();
        let full = |until: Instant| TableFull {
            limit,
            retry_after: until.saturating_duration_since(now),
        };
        if let Some(until) = self.full_until.get(&loser)
            && now < *until
        {
            return Err(full(*until));
        }
        let rows = self.by_id.iter();
        let of_loser = rows.filter(|(_, row)| row.entry.caller == loser);
        let idle = of_loser.filter_map(|(id, row)| Some((row.entry.idle_since()?, *id)));
        // Unused ones first, and the oldest of them; `false` is less than `true`.
        let oldest = idle.min_by_key(|(idle, _)| (idle.is_used, idle.since));
        let until = match &oldest {
            Some((idle, _)) => idle.since + LEFT_ALONE,
            None => now + LEFT_ALONE,
        };
        let row = oldest.filter(|_| until <= now);
        let row = row.and_then(|(_, id)| self.by_id.remove(&id));
        if row.is_none() {
            // Times that have passed are removed here, so the map holds only callers that were refused just
            // now.
            self.full_until.retain(|_, until| now < *until);
            self.full_until.insert(loser, until);
        }
        row.ok_or_else(|| full(until))
    }

    /// The caller with the most slots; `caller` itself if none has more.
    fn largest_holder<'a>(&'a self, caller: &'a Caller) -> &'a Caller {
        let own = self.taken_by.get(caller).copied().unwrap_or(0);
        let largest = self.taken_by.iter().max_by_key(|(_, taken)| **taken);
        let larger = largest.filter(|(_, taken)| **taken > own);
        larger.map_or(caller, |(larger, _)| larger)
    }
}

/// Sweeps a table until it is empty or dropped.
async fn sweep(table: Weak<SessionTable>, interval: Duration) {
    loop {
        sleep(interval).await;
        let Some(table) = table.upgrade() else {
            return;
        };
        table.sweep(Instant::now());
        let mut sessions = table.sessions.lock();
        if sessions.by_id.is_empty() {
            // Under the lock: a session that is added from now on starts another task.
            sessions.is_swept = false;
            return;
        }
    }
}

fn sweep_interval(config: &SessionLimits) -> Duration {
    let shortest = config.idle.min(config.unused);
    (shortest / 8).clamp(Duration::from_millis(10), Duration::from_secs(1))
}

impl Drop for SessionTable {
    fn drop(&mut self) {
        for row in self.sessions.lock().by_id.values() {
            row.entry.close();
        }
    }
}

impl Drop for SessionSlot {
    fn drop(&mut self) {
        let Some(table) = self.table.upgrade() else {
            return;
        };
        let mut sessions = table.sessions.lock();
        sessions.taken -= 1;
        if let Some(of_caller) = sessions.taken_by.get_mut(&self.caller) {
            *of_caller -= 1;
            if *of_caller == 0 {
                sessions.taken_by.remove(&self.caller);
            }
        }
    }
}

/// One session and its streams.
pub(super) struct SessionEntry {
    caller: Caller,
    transport: SessionTransport,
    /// Key of the conversation, which unlike the session id is no secret.
    pub(super) conversation: Arc<str>,
    /// Absent until the handshake. In HTTP+SSE the stream is opened before it.
    session: OnceLock<Arc<Session>>,
    streams: Arc<Streams>,
    activity: Mutex<SessionActivity>,
}

/// Transport of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionTransport {
    /// Streamable HTTP: the session id is in a header.
    Streamable,
    /// HTTP+SSE: the session id is in the query of the URI.
    EventStream,
}

#[derive(Debug)]
struct SessionActivity {
    since: Instant,
    /// True once the client has come back after the handshake.
    is_used: bool,
    /// True while there is a subscription for the general stream.
    listens: bool,
    /// Number of handshakes under way.
    handshakes: usize,
}

/// Handshake under way on a stream of HTTP+SSE, which counts as use until it is dropped.
pub(super) struct RunningHandshake<'a>(&'a SessionEntry);

/// Activity of an idle session.
struct IdleSince {
    is_used: bool,
    since: Instant,
}

impl SessionEntry {
    pub(super) fn new(
        caller: Caller,
        transport: SessionTransport,
        config: &SessionLimits,
        unsent: CallerBudget,
    ) -> Self {
        Self {
            caller,
            transport,
            conversation: conversation_key(),
            session: OnceLock::new(),
            streams: Streams::new(config.replay_bytes, unsent),
            activity: Mutex::new(SessionActivity {
                since: Instant::now(),
                is_used: false,
                listens: false,
                handshakes: 0,
            }),
        }
    }

    /// Sets the session after its handshake. A second handshake changes nothing.
    pub(super) fn set_session(&self, session: Arc<Session>) {
        if let Err(another) = self.session.set(session) {
            another.close();
        }
    }

    pub(super) fn session(&self) -> Option<&Arc<Session>> {
        self.session.get()
    }

    pub(super) fn streams(&self) -> &Arc<Streams> {
        &self.streams
    }

    /// True if `caller` may use the session by this transport.
    fn admits(&self, caller: &Caller, transport: SessionTransport) -> bool {
        self.transport == transport && self.caller == *caller
    }

    /// Records that the client came back.
    pub(super) fn touch(&self) {
        let mut activity = self.activity.lock();
        activity.since = Instant::now();
        activity.is_used = true;
    }

    /// Keeps the entry while its session is being opened.
    pub(super) fn begin_handshake(&self) -> RunningHandshake<'_> {
        self.activity.lock().handshakes += 1;
        RunningHandshake(self)
    }

    /// Subscribes to changes, which go to the general stream.
    pub(super) fn listen(&self) {
        let Some(session) = self.session() else {
            return;
        };
        let listened = std::mem::replace(&mut self.activity.lock().listens, true);
        if !listened {
            session.listen(Some(self.streams.general()));
        }
    }

    /// Activity of an idle session; `None` while it has a request or a reader.
    fn idle_since(&self) -> Option<IdleSince> {
        // Before the session is open there is a handshake under way, which must not be closed.
        let is_busy = self
            .session()
            .is_none_or(|session| session.in_flight() > 0 || self.streams.are_read());
        let activity = self.activity.lock();
        (!is_busy).then_some(IdleSince {
            is_used: activity.is_used,
            since: activity.since,
        })
    }

    /// True if the session has been idle for too long.
    fn is_expired(&self, now: Instant, config: &SessionLimits) -> bool {
        // Unlike above, a stream of HTTP+SSE without a handshake is not busy, however long it is read.
        let is_busy = self
            .session()
            .is_some_and(|session| session.in_flight() > 0 || self.streams.are_read());
        let mut activity = self.activity.lock();
        if is_busy || activity.handshakes > 0 {
            // The idle time begins when the last request, handshake or reader has left.
            activity.since = now;
            return false;
        }
        let limit = if activity.is_used {
            config.idle
        } else {
            config.unused
        };
        now.saturating_duration_since(activity.since) >= limit
    }

    /// Ends the subscription if the general stream has not been read for a while.
    fn stop_unread_listening(&self, now: Instant, config: &SessionLimits) {
        let unread = self.streams.unread_since();
        let is_long = |since: Instant| now.saturating_duration_since(since) >= config.unused;
        if !unread.is_some_and(is_long) {
            return;
        }
        self.activity.lock().listens = false;
        self.streams.end_general();
        if let Some(session) = self.session() {
            session.listen(None);
        }
    }

    /// Cancels everything and ends every stream.
    pub(super) fn close(&self) {
        if let Some(session) = self.session() {
            session.close();
        }
        self.streams.close();
    }
}

impl Drop for RunningHandshake<'_> {
    fn drop(&mut self) {
        let mut activity = self.0.activity.lock();
        activity.handshakes -= 1;
        activity.since = Instant::now();
    }
}

/// Secret id of a session: 192 random bits in visible ASCII.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SessionId([u8; LENGTH]);

const RANDOM_BYTES: usize = 24;
const LENGTH: usize = RANDOM_BYTES / 3 * 4;

impl SessionId {
    pub(super) fn random() -> Self {
        let mut name = [0; LENGTH];
        URL_SAFE_NO_PAD
            .encode_slice(random::<RANDOM_BYTES>(), &mut name)
            .expect("the name has the length of the encoded secret");
        Self(name)
    }

    /// The id that a client presents, if it has the right length.
    pub(super) fn parse(name: &[u8]) -> Option<Self> {
        name.try_into().ok().map(Self)
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionId(..)")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use callgate_wire::Version;
    use tokio::time::advance;

    use super::*;
    use crate::error::Error;
    use crate::legacy::server::client_request::RequestOrigin;
    use crate::legacy::server::http::streams::Retention;
    use crate::server::UnsentBudget;
    use crate::service::{BoxFuture, Call, Reply, Service, Source};

    struct Silent;

    impl Service for Silent {
        fn call(&self, _: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            Box::pin(std::future::pending())
        }
    }

    fn config() -> SessionLimits {
        SessionLimits {
            sessions: 3,
            sessions_per_caller: 2,
            idle: Duration::from_secs(100),
            unused: Duration::from_secs(10),
            ..SessionLimits::default()
        }
    }

    fn caller(name: &str) -> Caller {
        Caller::named(name)
    }

    fn entry(caller: &Caller, transport: SessionTransport) -> Arc<SessionEntry> {
        let service = Arc::new(Silent);
        let version = Version::V2025_11_25;
        let origin = RequestOrigin {
            caller: caller.clone(),
            source: Source::default(),
            trace: None,
        };
        let session = Session::without_handshake(service, origin, version, config());
        let budget = UnsentBudget::new(usize::MAX, usize::MAX);
        let unsent = CallerBudget::new(&budget, caller);
        let entry = SessionEntry::new(caller.clone(), transport, &config(), unsent);
        entry.set_session(session);
        Arc::new(entry)
    }

    fn open(table: &Arc<SessionTable>, caller: &Caller) -> SessionId {
        let slot = table.reserve(caller).ok().unwrap();
        table.insert(slot, entry(caller, SessionTransport::Streamable))
    }

    fn is_open(table: &SessionTable, id: &SessionId, caller: &Caller) -> bool {
        table
            .find(id, caller, SessionTransport::Streamable)
            .is_some()
    }

    #[tokio::test]
    async fn a_session_exists_only_for_its_owner_and_its_transport() {
        let table = SessionTable::new(config());
        let (ann, bob) = (caller("ann"), caller("bob"));
        let id = open(&table, &ann);
        assert!(is_open(&table, &id, &ann));
        assert!(!is_open(&table, &id, &bob));
        assert!(!is_open(&table, &id, &Caller::Anonymous));
        assert!(
            table
                .find(&id, &ann, SessionTransport::EventStream)
                .is_none()
        );
        assert!(!is_open(&table, &SessionId::random(), &ann));
        table.remove(&id);
        assert!(!is_open(&table, &id, &ann));
    }

    /// The limit that `caller` meets now, and the seconds after which it may try again.
    fn refusal(table: &Arc<SessionTable>, caller: &Caller) -> Option<(SessionLimit, u64)> {
        let full = table.reserve(caller).err()?;
        Some((full.limit, full.retry_after.as_secs()))
    }

    #[tokio::test(start_paused = true)]
    async fn an_abandoned_session_gives_way_and_else_the_least_recently_used() {
        let table = SessionTable::new(config());
        let ann = caller("ann");
        let (used, abandoned) = (open(&table, &ann), open(&table, &ann));
        let touch = |id| {
            let entry = table.find(id, &ann, SessionTransport::Streamable);
            entry.unwrap().touch();
        };
        advance(Duration::from_secs(1)).await;
        touch(&used);
        // The refusal says when the abandoned one gives way, four seconds later.
        assert_eq!(refusal(&table, &ann), Some((SessionLimit::Caller, 4)));
        advance(Duration::from_secs(4)).await;
        let second = open(&table, &ann);
        assert!(is_open(&table, &used, &ann) && !is_open(&table, &abandoned, &ann));
        touch(&second);
        advance(Duration::from_secs(5)).await;
        let third = open(&table, &ann);
        assert!(!is_open(&table, &used, &ann) && is_open(&table, &second, &ann));
        assert!(is_open(&table, &third, &ann));
        assert_eq!(table.sessions.lock().taken, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn the_caller_with_the_most_sessions_gives_way_to_others() {
        let table = SessionTable::new(config());
        let (ann, bob, eve) = (caller("ann"), caller("bob"), caller("eve"));
        let of_bob = open(&table, &bob);
        advance(Duration::from_secs(1)).await;
        let of_ann = [open(&table, &ann), open(&table, &ann)];
        advance(Duration::from_secs(5)).await;
        let of_eve = open(&table, &eve);
        assert!(is_open(&table, &of_bob, &bob) && is_open(&table, &of_eve, &eve));
        let left = of_ann.iter().filter(|id| is_open(&table, id, &ann));
        assert_eq!(left.count(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_with_a_reader_does_not_give_way() {
        let table = SessionTable::new(config());
        let ann = caller("ann");
        let ids = [open(&table, &ann), open(&table, &ann)];
        let readers = ids.map(|id| {
            let entry = table.find(&id, &ann, SessionTransport::Streamable).unwrap();
            entry.streams().open_general(Retention::Events)
        });
        advance(Duration::from_secs(60)).await;
        assert_eq!(refusal(&table, &ann), Some((SessionLimit::Caller, 5)));
        drop(readers);
        advance(Duration::from_secs(5)).await;
        assert_eq!(refusal(&table, &ann), None);
    }

    #[tokio::test(start_paused = true)]
    async fn places_are_counted_for_all_and_for_each() {
        let table = SessionTable::new(config());
        let (ann, bob) = (caller("ann"), caller("bob"));
        let id = open(&table, &ann);
        let unfinished = table.reserve(&ann).ok().unwrap();
        assert_eq!(refusal(&table, &ann), Some((SessionLimit::Caller, 5)));
        open(&table, &bob);
        assert_eq!(refusal(&table, &bob), Some((SessionLimit::Server, 5)));
        drop(unfinished);
        let slot = table.reserve(&bob).ok().unwrap();
        table.remove(&id);
        drop(slot);
        assert_eq!(table.sessions.lock().taken, 1);
        assert_eq!(table.sessions.lock().taken_by, HashMap::from([(bob, 1)]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_that_rests_too_long_is_closed() {
        let table = SessionTable::new(config());
        let ann = caller("ann");
        let unused = open(&table, &ann);
        let used = open(&table, &ann);
        let touch = |id| {
            table
                .find(id, &ann, SessionTransport::Streamable)
                .unwrap()
                .touch();
        };
        touch(&used);
        advance(Duration::from_secs(9)).await;
        table.sweep(Instant::now());
        assert!(is_open(&table, &unused, &ann) && is_open(&table, &used, &ann));
        advance(Duration::from_secs(1)).await;
        table.sweep(Instant::now());
        assert!(!is_open(&table, &unused, &ann) && is_open(&table, &used, &ann));
        advance(Duration::from_secs(80)).await;
        touch(&used);
        advance(Duration::from_secs(99)).await;
        table.sweep(Instant::now());
        assert!(is_open(&table, &used, &ann));
        advance(Duration::from_secs(1)).await;
        table.sweep(Instant::now());
        assert!(!is_open(&table, &used, &ann));
        assert_eq!(table.sessions.lock().taken, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn an_abandoned_stream_ends_its_subscription() {
        let table = SessionTable::new(config());
        let ann = caller("ann");
        let id = open(&table, &ann);
        let entry = table.find(&id, &ann, SessionTransport::Streamable).unwrap();
        entry.touch();
        let source = entry.streams().open_general(Retention::Events);
        entry.listen();
        advance(Duration::from_secs(500)).await;
        table.sweep(Instant::now());
        assert!(is_open(&table, &id, &ann));
        drop(source);
        advance(Duration::from_secs(9)).await;
        table.sweep(Instant::now());
        assert!(entry.streams().unread_since().is_some());
        advance(Duration::from_secs(1)).await;
        table.sweep(Instant::now());
        assert_eq!(entry.streams().unread_since(), None);
    }

    #[test]
    fn names_are_visible_and_never_the_same() {
        let names: HashSet<_> = (0..1000).map(|_| SessionId::random()).collect();
        assert_eq!(names.len(), 1000);
        for name in names {
            assert!(name.as_bytes().iter().all(u8::is_ascii_graphic));
            assert_eq!(SessionId::parse(name.as_bytes()), Some(name));
            assert_eq!(format!("{name:?}"), "SessionId(..)");
        }
        assert_eq!(SessionId::parse(b""), None);
        assert_eq!(SessionId::parse(&[b'x'; LENGTH + 1]), None);
    }
}
