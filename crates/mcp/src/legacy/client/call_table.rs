use std::collections::BTreeMap;
use std::sync::Arc;

use callgate_wire::logging::LogLevel;
use callgate_wire::{Id, Map, Notification, RawJson, RpcError, Splice, code, task};
use tokio::sync::Notify;

use super::listen_streams::ListenStreams;
use super::question::{Question, asked_capabilities};
use crate::mutex::Mutex;
use crate::notifier::Notifier;
use crate::service::{Call, Caller, CallerKey, PeerInfo};

/// Table of the calls that an old server works on, oldest first.
#[derive(Debug, Default)]
pub(super) struct CallTable(Mutex<CallTableState>);

#[derive(Debug, Default)]
struct CallTableState {
    calls: BTreeMap<u64, Arc<OldCall>>,
    last: u64,
}

/// A call that an old server works on.
#[derive(Debug)]
pub(super) struct OldCall {
    /// Number of the call, which is its progress token at the server.
    pub(super) number: u64,
    caller: CallerKey,
    /// True if its result may ask for input.
    carries_input: bool,
    state: Mutex<OldCallState>,
    wake: Notify,
}

#[derive(Debug)]
struct OldCallState {
    client: Requester,
    phase: CallPhase,
    /// Open questions of the server, by the keys that clients know.
    questions: Vec<(String, Question)>,
    asked: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallPhase {
    /// The client waits for the call.
    Attached,
    /// The call waits for the client.
    Suspended,
    Over,
}

/// Client that waits for a call: its capabilities and the sink for its notifications.
#[derive(Debug, Clone)]
pub(super) struct Requester {
    peer: Arc<PeerInfo>,
    notify: Notifier,
}

/// Maximum number of open questions of one call. A server that asks one more gets an error as its answer.
const MOST_QUESTIONS: usize = 16;

impl CallTable {
    /// Adds a call of a client.
    pub(super) fn admit(&self, call: &Call, client: Requester) -> Arc<OldCall> {
        let mut state = self.0.lock();
        state.last += 1;
        let old_call = Arc::new(OldCall {
            number: state.last,
            caller: CallerKey::of(&call.cx),
            carries_input: call.method.may_ask_input(),
            state: Mutex::new(OldCallState::new(client)),
            wake: Notify::new(),
        });
        state.calls.insert(old_call.number, old_call.clone());
        old_call
    }

    pub(super) fn remove(&self, number: u64) {
        self.0.lock().calls.remove(&number);
    }

    pub(super) fn get(&self, number: u64) -> Option<Arc<OldCall>> {
        self.0.lock().calls.get(&number).cloned()
    }

    /// The most verbose level of log messages that any client wants.
    pub(super) fn log_level(&self) -> Option<LogLevel> {
        let calls = self.all().into_iter();
        calls.filter_map(|it| it.client()?.peer.log_level()).min()
    }

    /// Delivers a log message that names no call, if all calls are of one caller: otherwise one
    /// caller could read what is about another.
    pub(super) fn log(&self, message: &Notification) {
        let calls = self.all();
        if !is_of_one_caller(&calls) {
            return tracing::debug!(
                "dropped a log message that names no call: calls of several callers are running"
            );
        }
        for old_call in calls {
            old_call.log(message);
        }
    }

    /// Delivers a notification that this client does not know and that names no call: to all streams
    /// that listen, or else to the newest call. All of them must be of one caller: otherwise one could
    /// read what is about another.
    pub(super) fn pass(&self, notification: &Notification, listening: &ListenStreams) {
        let (calls, streams) = (self.all(), listening.all());
        let callers = calls.iter().map(|old_call| &old_call.caller);
        let callers = callers.chain(streams.iter().map(|stream| &stream.caller));
        if !CallerKey::are_of_one_caller(callers) {
            return tracing::debug!(
                method = %notification.method,
                "dropped a notification that names no call: several callers are connected"
            );
        }
        match calls.last() {
            _ if !streams.is_empty() => {
                for stream in streams {
                    stream.pass(notification);
                }
            }
            Some(newest) => newest.pass(notification),
            None => tracing::debug!(
                method = %notification.method,
                "dropped a notification: no client listens or waits for a call"
            ),
        }
    }

    /// Finds the call to carry a question that names no call; `None` if that is the next one.
    ///
    /// If all calls are of one caller, the same user answers, whichever call carries it. Suspended
    /// calls come last: they can ask nothing more until their client comes back.
    ///
    /// # Errors
    /// The answer to a question that no client can be asked.
    pub(super) fn target_of(&self, question: &Question) -> Result<Option<Arc<OldCall>>, RpcError> {
        let (attached, suspended): (Vec<_>, Vec<_>) = self
            .all()
            .into_iter()
            .partition(|old_call| old_call.state.lock().phase == CallPhase::Attached);
        let calls = match attached.is_empty() {
            true => suspended,
            false => attached,
        };
        if !is_of_one_caller(&calls) {
            let text = "the request names no call, and calls of several callers are running";
            return Err(RpcError::new(code::INVALID_PARAMS, text));
        }
        let mut target = Ok(None);
        let carriers = calls.iter().rev().filter(|old_call| old_call.carries_input);
        for old_call in carriers {
            match old_call.suits(question) {
                Ok(()) => return Ok(Some(old_call.clone())),
                Err(error) => target = Err(error),
            }
        }
        target
    }

    /// Removes a question that the server has cancelled.
    pub(super) fn withdraw(&self, id: &Id) {
        for old_call in self.all() {
            old_call.withdraw(id);
        }
    }

    fn all(&self) -> Vec<Arc<OldCall>> {
        self.0.lock().calls.values().cloned().collect()
    }
}

impl OldCall {
    /// The entry of a task. It has no number, since the progress of a task is not reported.
    pub(super) fn of_task(call: &Call) -> Self {
        Self {
            number: 0,
            caller: CallerKey::of(&call.cx),
            carries_input: true,
            // A task lasts longer than the request that created it.
            state: Mutex::new(OldCallState::new(Requester::of(call).without_request())),
            wake: Notify::new(),
        }
    }

    pub(super) fn caller(&self) -> &Caller {
        self.caller.caller()
    }

    /// Open questions, as `InputRequests`.
    pub(super) fn questions(&self) -> Map<RawJson> {
        self.state.lock().questions()
    }

    /// Removes a question that the server has cancelled.
    pub(super) fn withdraw(&self, id: &Id) {
        let mut state = self.state.lock();
        state.questions.retain(|(_, question)| question.id != *id);
    }

    /// Checks that the client of the call can be asked this question.
    pub(super) fn suits(&self, question: &Question) -> Result<(), RpcError> {
        if !self.carries_input {
            let text = "a client cannot be asked anything in the middle of this call";
            return Err(RpcError::new(code::INVALID_PARAMS, text));
        }
        question.suits(&self.state.lock().client.peer)
    }

    /// Adds a question to the call, or gives it back if the call has ended or has too many.
    pub(super) fn ask(&self, question: Question) -> Result<(), Question> {
        let mut state = self.state.lock();
        // The call may have ended since it was chosen for this question.
        if state.phase == CallPhase::Over || state.questions.len() >= MOST_QUESTIONS {
            return Err(question);
        }
        state.asked += 1;
        // Counted and never used again, so that a late answer cannot fit a newer question.
        let key = state.asked.to_string();
        state.questions.push((key, question));
        drop(state);
        self.wake.notify_one();
        Ok(())
    }

    /// Waits until there is an open question. Dropping the future is safe.
    pub(super) async fn asked(&self) {
        // A wake-up between the check and the wait is not missed: `notify_one` is remembered.
        while self.state.lock().questions.is_empty() {
            self.wake.notified().await;
        }
    }

    /// Suspends the call: its open questions as `InputRequests`, or `None` if the server has cancelled
    /// all of them.
    pub(super) fn suspend(&self) -> Option<Map<RawJson>> {
        let mut state = self.state.lock();
        if state.questions.is_empty() {
            return None;
        }
        state.phase = CallPhase::Suspended;
        // Under the same lock: the server may withdraw the last question at any time.
        Some(state.questions())
    }

    /// Continues without asking, and gives back the questions, which stay unanswered.
    pub(super) fn refuse(&self) -> Vec<Question> {
        self.unanswered(CallPhase::Attached)
    }

    /// Releases the request of a suspended call, which has been replied to and may be large.
    pub(super) fn release_request(&self) {
        let mut state = self.state.lock();
        // Another request may have continued the call by now.
        if state.phase == CallPhase::Suspended {
            state.client = state.client.without_request();
        }
    }

    /// Continues a suspended call for the next request of its client.
    pub(super) fn attach(&self, client: Requester) {
        let mut state = self.state.lock();
        state.client = client;
        state.phase = CallPhase::Attached;
    }

    /// Takes out the questions that have answers now, with the answers.
    pub(super) fn answered(&self, answers: &Map<RawJson>) -> Vec<(Question, RawJson)> {
        let mut answered = Vec::new();
        self.state
            .lock()
            .questions
            .retain(|(key, question)| match answers.get(key) {
                None => true,
                Some(answer) => {
                    answered.push((question.clone(), answer.clone()));
                    false
                }
            });
        answered
    }

    /// Ends the call, and gives back the questions, which stay unanswered.
    pub(super) fn close(&self) -> Vec<Question> {
        self.unanswered(CallPhase::Over)
    }

    /// Delivers progress under the token of the client.
    pub(super) fn progress(&self, notification: &Notification) {
        // No client waits for a suspended call, so its progress is lost.
        let client = self.client();
        let Some(token) = client
            .as_ref()
            .and_then(|client| client.peer.progress_token())
        else {
            return;
        };
        let params = Splice::new(&notification.params)
            .set(&["progressToken"], token.as_raw())
            .finish();
        if let (Some(client), Ok(params)) = (client, params) {
            client.notify.offer(Notification {
                method: notification.method.clone(),
                params,
            });
        }
    }

    /// Delivers a log message, if the client asked for its level.
    pub(super) fn log(&self, message: &Notification) {
        let Some(client) = self.client() else { return };
        let level = message.params.get("level");
        // An unknown level may be severe, so it is not filtered out.
        let level = level.and_then(|level| level.decode().ok());
        let level = level.unwrap_or(LogLevel::Emergency);
        let wanted = client.peer.log_level();
        if wanted.is_some_and(|wanted| wanted <= level) {
            client.notify.offer(message.clone());
        }
    }

    /// Delivers a notification that this client does not know, as it is.
    pub(super) fn pass(&self, notification: &Notification) {
        if let Some(client) = self.client() {
            client.notify.offer(notification.clone());
        }
    }

    /// Takes out all questions, and enters `phase`.
    fn unanswered(&self, phase: CallPhase) -> Vec<Question> {
        let mut state = self.state.lock();
        state.phase = phase;
        let questions = std::mem::take(&mut state.questions);
        questions
            .into_iter()
            .map(|(_, question)| question)
            .collect()
    }

    /// The client that waits for the call now.
    fn client(&self) -> Option<Requester> {
        let state = self.state.lock();
        (state.phase == CallPhase::Attached).then(|| state.client.clone())
    }
}

impl OldCallState {
    fn new(client: Requester) -> Self {
        Self {
            client,
            phase: CallPhase::Attached,
            questions: Vec::new(),
            asked: 0,
        }
    }

    fn questions(&self) -> Map<RawJson> {
        let questions = self.questions.iter();
        questions
            .map(|(key, question)| (key.clone(), question.request.clone()))
            .collect()
    }
}

impl Requester {
    /// The client that makes `call`.
    pub(super) fn of(call: &Call) -> Self {
        Self {
            peer: call.cx.peer().clone(),
            notify: call.cx.notify.clone(),
        }
    }

    /// The same client, which can be asked the same, without the buffer and the notifications of its
    /// request.
    fn without_request(&self) -> Self {
        Self {
            peer: Arc::new(asked_capabilities(&self.peer)),
            notify: Notifier::disabled(),
        }
    }

    pub(super) fn wants_logs(&self) -> bool {
        self.peer.log_level().is_some()
    }

    /// True if the client declares the tasks extension.
    pub(super) fn knows_tasks(&self) -> bool {
        self.peer.declares(&["extensions", task::EXTENSION])
    }

    /// True if the client can open URLs for its user.
    pub(super) fn opens_urls(&self) -> bool {
        self.peer.declares(&["elicitation", "url"])
    }

    pub(super) fn wants_progress(&self) -> bool {
        self.peer.progress_token().is_some()
    }
}

/// True if all calls are certainly of the same caller.
fn is_of_one_caller(calls: &[Arc<OldCall>]) -> bool {
    CallerKey::are_of_one_caller(calls.iter().map(|old_call| &old_call.caller))
}
