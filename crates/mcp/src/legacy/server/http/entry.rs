use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::time::Instant;

use super::streams::Streams;
use crate::legacy::server::Config;
use crate::legacy::server::session::Session;
use crate::service::Caller;

/// A session and its streams.
pub(super) struct Entry {
    caller: Caller,
    door: Door,
    /// Absent until the handshake, where the streams come first.
    session: OnceLock<Arc<Session>>,
    streams: Arc<Streams>,
    rest: Mutex<Rest>,
}

/// By which transport a session is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    /// Streamable HTTP: its id comes in a header.
    Header,
    /// HTTP+SSE: its id comes in the query of the URI.
    Query,
}

#[derive(Debug)]
struct Rest {
    since: Instant,
    /// Whether the client has come back since the handshake.
    is_used: bool,
    /// Whether messages that belong to no request are listened for.
    listens: bool,
}

impl Entry {
    pub(super) fn new(caller: Caller, door: Door, config: &Config) -> Self {
        Self {
            caller,
            door,
            session: OnceLock::new(),
            streams: Streams::new(config.replay_bytes),
            rest: Mutex::new(Rest {
                since: Instant::now(),
                is_used: false,
                listens: false,
            }),
        }
    }

    /// An entry whose handshake is over.
    pub(super) fn of(session: Arc<Session>, caller: Caller, door: Door, config: &Config) -> Self {
        let entry = Self::new(caller, door, config);
        entry.begin(session);
        entry
    }

    /// Takes the session of the handshake; only the first one counts.
    pub(super) fn begin(&self, session: Arc<Session>) {
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

    pub(super) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Whether `caller` may enter by `door`.
    pub(super) fn admits(&self, caller: &Caller, door: Door) -> bool {
        self.door == door && self.caller == *caller
    }

    /// Notes that the client came back.
    pub(super) fn touch(&self) {
        let mut rest = self.rest();
        rest.since = Instant::now();
        rest.is_used = true;
    }

    /// Lets messages come that belong to no request.
    pub(super) fn listen(&self) {
        let Some(session) = self.session() else {
            return;
        };
        let listened = std::mem::replace(&mut self.rest().listens, true);
        if !listened {
            session.listen(Some(self.streams.general()));
        }
    }

    /// Whether the session has rested for too long.
    pub(super) fn is_expired(&self, now: Instant, config: &Config) -> bool {
        let is_busy = match self.session() {
            Some(session) => session.in_flight() > 0 || self.streams.are_read(),
            None => false,
        };
        let mut rest = self.rest();
        if is_busy {
            rest.since = now;
            return false;
        }
        let patience = if rest.is_used {
            config.idle
        } else {
            config.unused
        };
        now.saturating_duration_since(rest.since) >= patience
    }

    /// Listens no longer once nobody has heard anything for a while.
    pub(super) fn rest_ears(&self, now: Instant, config: &Config) {
        let unheard = self.streams.unheard_since();
        let is_long = |since: Instant| now.saturating_duration_since(since) >= config.unused;
        if !unheard.is_some_and(is_long) {
            return;
        }
        self.rest().listens = false;
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

    fn rest(&self) -> MutexGuard<'_, Rest> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
