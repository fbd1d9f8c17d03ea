use std::collections::HashMap;
use std::sync::Arc;
use std::task::{Context, Poll};

use callgate_wire::logging::LogLevel;
use callgate_wire::{Id, Method, RawJson};
use futures_util::task::AtomicWaker;

use super::outbox::{Closed, Outbox};
use crate::error::{Error, Kind};
use crate::mutex::Mutex;
use crate::notifier::Notifier;
use crate::service::{Call, CallerKey};
use crate::transport::CloseReason;

/// Table of the calls that wait for their answers, by their ids on this connection.
pub(super) struct PendingCalls {
    max: usize,
    state: Mutex<PendingState>,
}

#[derive(Default)]
struct PendingState {
    calls: HashMap<u64, Entry>,
    last: u64,
    closed: Option<CloseReason>,
}

struct Entry {
    caller: CallerContext,
    stage: CallStage,
    waker: AtomicWaker,
}

/// Ids by which the caller of a call knows it, and the sink for its notifications.
#[derive(Clone)]
pub(super) struct CallerContext {
    /// Absent for a request of this process itself.
    pub(super) key: Option<CallerKey>,
    /// Id of the request; subscriptions are named after it.
    pub(super) id: Id,
    /// Progress token of the caller, or else the id of its request.
    pub(super) progress_token: Id,
    /// Lowest level of the log messages that the caller wants.
    pub(super) log_level: Option<LogLevel>,
    pub(super) is_subscription: bool,
    pub(super) notify: Notifier,
}

enum CallStage {
    Unsent,
    /// The outbox has the request, and has sent it once this many bytes are written.
    Sent(u64),
    Answered(Answer),
}

/// Result of a call; or the error that the server answered with, or why no answer will come.
pub(super) type Answer = Result<RawJson, Error>;

impl CallerContext {
    pub(super) fn new(call: &Call) -> Self {
        let peer = call.cx.peer();
        Self {
            key: Some(CallerKey::of(&call.cx)),
            id: call.cx.id.clone(),
            progress_token: peer.progress_token().unwrap_or_else(|| call.cx.id.clone()),
            log_level: peer.log_level(),
            is_subscription: call.method.is_subscription(),
            notify: call.cx.notify.clone(),
        }
    }

    /// The context of a request that receives its answer only.
    pub(super) fn silent() -> Self {
        Self {
            key: None,
            id: Id::number(0),
            progress_token: Id::number(0),
            log_level: None,
            is_subscription: false,
            notify: Notifier::disabled(),
        }
    }
}

impl PendingCalls {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            state: Mutex::default(),
        }
    }

    /// Adds a call and gives it its number, or refuses it as closed or busy.
    pub(super) fn admit(&self, caller: CallerContext, name: &Arc<str>) -> Result<u64, Error> {
        let mut state = self.state.lock();
        if let Some(reason) = &state.closed {
            return Err(reason.to_error().retry_safe());
        }
        if state.calls.len() >= self.max {
            let text = format!("too many calls of `{name}` in flight");
            return Err(Error::new(Kind::Busy, text).retry_safe());
        }
        // Never used again on this connection, so that a late answer finds no other call.
        state.last += 1;
        let number = state.last;
        let entry = Entry {
            caller,
            stage: CallStage::Unsent,
            waker: AtomicWaker::new(),
        };
        state.calls.insert(number, entry);
        Ok(number)
    }

    /// Sends the request of a call, unless the call has already failed.
    pub(super) fn send(
        &self,
        number: u64,
        outbox: &Outbox,
        (method, params): (&Method, &RawJson),
    ) -> Result<(), Closed> {
        // The lock is held during the push: if the connection closes at the same time, the stage
        // says reliably if the request was sent, and so if a retry is safe.
        let mut state = self.state.lock();
        let Some(Entry {
            stage: stage @ CallStage::Unsent,
            ..
        }) = state.calls.get_mut(&number)
        else {
            return Ok(());
        };
        let id = Id::number(number);
        let end = outbox.push(|out| callgate_wire::encode::request(out, &id, method, params))?;
        *stage = CallStage::Sent(end);
        Ok(())
    }

    /// The answer to a call. It is taken out.
    pub(super) fn poll_answer(&self, number: u64, cx: &mut Context<'_>) -> Poll<Answer> {
        let mut state = self.state.lock();
        let entry = state
            .calls
            .get_mut(&number)
            .expect("a call is pending until it is answered or dropped");
        if !matches!(entry.stage, CallStage::Answered(_)) {
            entry.waker.register(cx.waker());
            return Poll::Pending;
        }
        // Taken out, so that the drop of the call finds nothing to cancel.
        match state.calls.remove(&number).map(|entry| entry.stage) {
            Some(CallStage::Answered(answer)) => Poll::Ready(answer),
            _ => Poll::Pending,
        }
    }

    /// Removes a call. True if it was sent and not answered, so that the server is to be told.
    pub(super) fn forget(&self, number: u64) -> bool {
        let entry = self.state.lock().calls.remove(&number);
        entry.is_some_and(|entry| matches!(entry.stage, CallStage::Sent(_)))
    }

    /// Answers a call; the first answer counts. False if no call waits for it.
    pub(super) fn answer(&self, number: u64, answer: Answer) -> bool {
        let mut state = self.state.lock();
        let entry = state.calls.get_mut(&number);
        entry.is_some_and(|entry| entry.answer(answer))
    }

    /// Fails all calls, now and from now on. Those that were not sent are safe to retry.
    pub(super) fn close(&self, reason: &CloseReason, outbox: &Outbox) {
        let mut state = self.state.lock();
        if state.closed.is_some() {
            return;
        }
        let written = outbox.written();
        for entry in state.calls.values_mut() {
            let error = reason.to_error();
            let error = match entry.stage {
                // A server cannot have acted on a line that was not written whole.
                CallStage::Sent(end) if end <= written => error,
                _ => error.retry_safe(),
            };
            entry.answer(Err(error));
        }
        state.closed = Some(reason.clone());
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state.lock().closed.is_some()
    }

    /// The caller of the call `number`, while it waits.
    pub(super) fn caller(&self, number: u64) -> Option<CallerContext> {
        Some(self.state.lock().calls.get(&number)?.caller.clone())
    }

    /// The callers of all waiting calls that match, oldest first.
    pub(super) fn callers(&self, matches: impl Fn(&CallerContext) -> bool) -> Vec<CallerContext> {
        let state = self.state.lock();
        let entries = state.calls.iter();
        let mut entries: Vec<_> = entries
            .filter(|(_, entry)| matches(&entry.caller))
            .collect();
        entries.sort_unstable_by_key(|(number, _)| **number);
        let callers = entries.into_iter().map(|(_, entry)| entry.caller.clone());
        callers.collect()
    }
}

impl Entry {
    fn answer(&mut self, answer: Answer) -> bool {
        if matches!(self.stage, CallStage::Answered(_)) {
            return false;
        }
        self.stage = CallStage::Answered(answer);
        self.waker.wake();
        true
    }
}
