use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use callgate_wire::{Id, Method, RawJson, meta, method};

use super::outbox::{Closed, Outbox};
use crate::error::{Error, Kind};
use crate::notifier::Notifier;
use crate::service::Call;

/// The calls of a client that wait for their answers, by the number each has on the wire.
#[derive(Debug)]
pub(super) struct Pending {
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    calls: HashMap<u64, Entry>,
    last: u64,
    ended: Option<End>,
}

#[derive(Debug)]
struct Entry {
    caller: Caller,
    stage: Stage,
    waker: Option<Waker>,
}

/// What a call's caller calls things, and where it wants to hear about them.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// The id of the request; subscriptions are named after it.
    pub(super) id: Id,
    /// The name that progress has for the caller: its token, or the id where it has none.
    pub(super) progress_token: Id,
    /// The lowest level of log messages that the caller wants.
    pub(super) log_level: Option<RawJson>,
    /// Whether the call is a subscription.
    pub(super) listens: bool,
    /// Where notifications go.
    pub(super) notify: Notifier,
}

#[derive(Debug)]
enum Stage {
    Unsent,
    /// The outbox has the request, and it is gone once this many bytes are written.
    Sent(u64),
    Answered(Answer),
}

/// How the wait for an answer ended.
#[derive(Debug)]
pub(super) enum Answer {
    /// The server answered with a result.
    Result(RawJson),
    /// The server answered with an error.
    Error(RawJson),
    /// The server ended the subscription without a result.
    Unsubscribed,
    /// No answer will come.
    Failed(Error),
}

/// Why a connection is over.
#[derive(Debug, Clone)]
pub(crate) struct End {
    pub(crate) kind: Kind,
    pub(crate) message: String,
}

impl Caller {
    pub(super) fn new(call: &Call) -> Self {
        let of_meta = |key| call.params.at(&["_meta", key]);
        Self {
            id: call.cx.id.clone(),
            progress_token: of_meta(meta::PROGRESS_TOKEN)
                .and_then(|token| Id::try_from(token).ok())
                .unwrap_or_else(|| call.cx.id.clone()),
            log_level: of_meta(meta::LOG_LEVEL),
            listens: call.method.as_str() == method::SUBSCRIPTIONS_LISTEN,
            notify: call.cx.notify.clone(),
        }
    }

    /// Nobody who wants to hear anything but the answer.
    pub(super) fn nobody() -> Self {
        Self {
            id: Id::number(0),
            progress_token: Id::number(0),
            log_level: None,
            listens: false,
            notify: Notifier::disabled(),
        }
    }
}

impl End {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    pub(super) fn to_error(&self, name: &Arc<str>) -> Error {
        Error::new(self.kind, self.message.clone()).from_upstream(name)
    }
}

impl Pending {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            state: Mutex::default(),
        }
    }

    /// Gives a call its number.
    pub(super) fn admit(&self, caller: Caller, name: &Arc<str>) -> Result<u64, Error> {
        let mut state = self.state();
        if let Some(end) = &state.ended {
            return Err(end.to_error(name).retry_safe());
        }
        if state.calls.len() >= self.most {
            let text = format!("too many calls of `{name}` in flight");
            return Err(Error::new(Kind::Busy, text).retry_safe());
        }
        state.last += 1;
        let number = state.last;
        let entry = Entry {
            caller,
            stage: Stage::Unsent,
            waker: None,
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
        // Held while it is pushed: should the connection end, the call knows whether it was sent.
        let mut state = self.state();
        let Some(Entry {
            stage: stage @ Stage::Unsent,
            ..
        }) = state.calls.get_mut(&number)
        else {
            return Ok(());
        };
        let id = Id::number(number);
        let end = outbox.push(|out| callgate_wire::encode::request(out, &id, method, params))?;
        *stage = Stage::Sent(end);
        Ok(())
    }

    /// The answer to a call, once.
    pub(super) fn poll_answer(&self, number: u64, cx: &mut Context<'_>) -> Poll<Answer> {
        let mut state = self.state();
        let entry = state
            .calls
            .get_mut(&number)
            .expect("a call is pending until it is answered or dropped");
        if !matches!(entry.stage, Stage::Answered(_)) {
            match &mut entry.waker {
                Some(waker) => waker.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
            return Poll::Pending;
        }
        match state.calls.remove(&number).map(|entry| entry.stage) {
            Some(Stage::Answered(answer)) => Poll::Ready(answer),
            _ => Poll::Pending,
        }
    }

    /// Forgets a call, and says whether the server should be told.
    pub(super) fn forget(&self, number: u64) -> bool {
        let entry = self.state().calls.remove(&number);
        entry.is_some_and(|entry| matches!(entry.stage, Stage::Sent(_)))
    }

    /// Answers a call; the first answer counts.
    pub(super) fn answer(&self, number: u64, answer: Answer) -> bool {
        let mut state = self.state();
        match state.calls.get_mut(&number) {
            Some(entry) => entry.answer(answer),
            None => false,
        }
    }

    /// Fails all calls, now and from now on.
    pub(super) fn end(&self, end: &End, outbox: &Outbox, name: &Arc<str>) {
        let mut state = self.state();
        if state.ended.is_some() {
            return;
        }
        let written = outbox.written();
        for entry in state.calls.values_mut() {
            let error = end.to_error(name);
            let error = match entry.stage {
                Stage::Sent(end) if end <= written => error,
                _ => error.retry_safe(),
            };
            entry.answer(Answer::Failed(error));
        }
        state.ended = Some(end.clone());
    }

    /// Whether all calls have been failed.
    pub(super) fn has_ended(&self) -> bool {
        self.state().ended.is_some()
    }

    /// Who made the call `number`, while it waits.
    pub(super) fn caller(&self, number: u64) -> Option<Caller> {
        Some(self.state().calls.get(&number)?.caller.clone())
    }

    /// Everybody who waits and is `wanted`.
    pub(super) fn callers(&self, wanted: impl Fn(&Caller) -> bool) -> Vec<Caller> {
        let state = self.state();
        let callers = state.calls.values().map(|entry| &entry.caller);
        callers.filter(|caller| wanted(caller)).cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn answer(&mut self, answer: Answer) -> bool {
        if matches!(self.stage, Stage::Answered(_)) {
            return false;
        }
        self.stage = Stage::Answered(answer);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
        true
    }
}
