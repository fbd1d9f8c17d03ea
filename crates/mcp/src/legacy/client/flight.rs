use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgate_wire::logging::LogLevel;
use callgate_wire::{Id, Map, Notification, RawJson, RpcError, Splice, code, method, task};
use tokio::sync::Notify;

use super::question::Question;
use crate::notifier::Notifier;
use crate::service::{Call, Caller, PeerInfo};

/// The calls that an old server works on, oldest first.
#[derive(Debug, Default)]
pub(super) struct Flights(Mutex<InFlight>);

#[derive(Debug, Default)]
struct InFlight {
    calls: BTreeMap<u64, Arc<Flight>>,
    last: u64,
}

/// A call that an old server works on.
#[derive(Debug)]
pub(super) struct Flight {
    /// What the server calls its progress.
    pub(super) number: u64,
    caller: Caller,
    /// Whether its result may ask for input.
    carries_input: bool,
    state: Mutex<State>,
    wake: Notify,
}

#[derive(Debug)]
struct State {
    client: Client,
    stage: Stage,
    /// What the server waits for, by the keys that clients know.
    questions: Vec<(String, Question)>,
    asked: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The client waits for the call.
    Attached,
    /// The call waits for the client.
    Parked,
    Over,
}

/// The request of a client that waits for a call.
#[derive(Debug, Clone)]
pub(super) struct Client {
    peer: PeerInfo,
    log_level: Option<LogLevel>,
    notify: Notifier,
}

/// Who is to be asked a question that names no call.
#[derive(Debug)]
pub(super) enum Place {
    /// Whoever waits for this call.
    Call(Arc<Flight>),
    /// Whoever calls next.
    Next,
    /// Nobody.
    Nobody(RpcError),
}

/// The most questions of one call that wait at once.
const MOST_QUESTIONS: usize = 16;

impl Flights {
    /// Adds a call on behalf of a client.
    pub(super) fn admit(&self, call: &Call, client: Client) -> Arc<Flight> {
        let mut state = self.state();
        state.last += 1;
        let flight = Arc::new(Flight {
            number: state.last,
            caller: call.cx.caller.clone(),
            carries_input: carries_input(call.method.as_str()),
            state: Mutex::new(State::new(client)),
            wake: Notify::new(),
        });
        state.calls.insert(flight.number, flight.clone());
        flight
    }

    /// Forgets a call.
    pub(super) fn remove(&self, number: u64) {
        self.state().calls.remove(&number);
    }

    /// The call with this number.
    pub(super) fn get(&self, number: u64) -> Option<Arc<Flight>> {
        self.state().calls.get(&number).cloned()
    }

    /// The most verbose level of log messages that a client wants.
    pub(super) fn log_level(&self) -> Option<LogLevel> {
        let flights = self.all();
        flights.iter().filter_map(|flight| flight.log_level()).min()
    }

    /// Passes on a log message that names no call, unless it may be about somebody else's.
    pub(super) fn log(&self, message: &Notification) {
        let flights = self.all();
        if !is_of_one_caller(&flights) {
            return tracing::debug!("dropped a log message of nobody's call");
        }
        for flight in flights {
            flight.log(message);
        }
    }

    /// Finds who is to be asked a question that names no call.
    ///
    /// While all calls are of one caller, the same user answers whichever call carries it. A parked
    /// call asks nothing more until it is answered, so the others come first.
    pub(super) fn place(&self, question: &Question) -> Place {
        let (attached, parked): (Vec<_>, Vec<_>) = self
            .all()
            .into_iter()
            .partition(|flight| flight.stage() == Stage::Attached);
        let flights = if attached.is_empty() {
            parked
        } else {
            attached
        };
        if !is_of_one_caller(&flights) {
            let text = "calls of several callers are in flight: nobody knows whose question it is";
            return Place::Nobody(RpcError::new(code::INVALID_PARAMS, text));
        }
        let mut refusal = None;
        let carriers = flights.iter().rev().filter(|flight| flight.carries_input);
        for flight in carriers {
            match flight.suits(question) {
                Ok(()) => return Place::Call(flight.clone()),
                Err(error) => refusal = Some(error),
            }
        }
        refusal.map_or(Place::Next, Place::Nobody)
    }

    /// Forgets a question that the server takes back.
    pub(super) fn withdraw(&self, id: &Id) {
        for flight in self.all() {
            flight.withdraw(id);
        }
    }

    fn all(&self) -> Vec<Arc<Flight>> {
        self.state().calls.values().cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, InFlight> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flight {
    /// The task of a call. It has no number, since its progress cannot be told.
    pub(super) fn of_task(call: &Call, client: Client) -> Self {
        Self {
            number: 0,
            caller: call.cx.caller.clone(),
            carries_input: true,
            state: Mutex::new(State::new(Client {
                log_level: None,
                notify: Notifier::disabled(),
                ..client
            })),
            wake: Notify::new(),
        }
    }

    /// What the server waits for, as `InputRequests`.
    pub(super) fn questions(&self) -> Map<RawJson> {
        let state = self.state();
        let questions = state.questions.iter();
        questions
            .map(|(key, question)| (key.clone(), question.request.clone()))
            .collect()
    }

    /// Forgets a question that the server takes back.
    pub(super) fn withdraw(&self, id: &Id) {
        let mut state = self.state();
        state.questions.retain(|(_, question)| question.id != *id);
    }

    /// Whether the call can ask its client this question.
    pub(super) fn suits(&self, question: &Question) -> Result<(), RpcError> {
        if !self.carries_input {
            let text = "a client cannot be asked anything in the middle of this call";
            return Err(RpcError::new(code::INVALID_PARAMS, text));
        }
        question.suits(&self.state().client.peer)
    }

    /// Lets the call ask its client a question, or gives it back.
    pub(super) fn ask(&self, question: Question) -> Result<(), Question> {
        let mut state = self.state();
        if state.stage == Stage::Over || state.questions.len() >= MOST_QUESTIONS {
            return Err(question);
        }
        state.asked += 1;
        let key = state.asked.to_string();
        state.questions.push((key, question));
        drop(state);
        self.wake.notify_one();
        Ok(())
    }

    /// Waits until there is something to ask. Dropping the future loses nothing.
    pub(super) async fn asked(&self) {
        loop {
            let wake = self.wake.notified();
            tokio::pin!(wake);
            // Registered before the look at the questions, so that no wake-up is missed.
            wake.as_mut().enable();
            if !self.state().questions.is_empty() {
                return;
            }
            wake.await;
        }
    }

    /// What to ask the client, as `InputRequests`; none where the server took everything back.
    pub(super) fn park(&self) -> Option<Map<RawJson>> {
        let mut state = self.state();
        if state.questions.is_empty() {
            return None;
        }
        state.stage = Stage::Parked;
        drop(state);
        Some(self.questions())
    }

    /// Goes on without asking, and gives back what will not be answered.
    pub(super) fn refuse(&self) -> Vec<Question> {
        self.unanswered(Stage::Attached)
    }

    /// Goes on for the next request of the client.
    pub(super) fn attach(&self, client: Client) {
        let mut state = self.state();
        state.client = client;
        state.stage = Stage::Attached;
    }

    /// The questions that have answers now, with them.
    pub(super) fn answered(&self, answers: &Map<RawJson>) -> Vec<(Question, RawJson)> {
        let mut answered = Vec::new();
        self.state()
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

    /// Ends the call, and gives back what will not be answered.
    pub(super) fn close(&self) -> Vec<Question> {
        self.unanswered(Stage::Over)
    }

    /// Passes on how far the call has come, under the name that its client gave it.
    pub(super) fn progress(&self, notification: &Notification) {
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

    /// Passes on a log message, where the client wants it.
    pub(super) fn log(&self, message: &Notification) {
        let Some(client) = self.client() else { return };
        let level = message.params.get("level");
        // What we do not know may be grave.
        let level = level.and_then(|level| level.decode().ok());
        let level = level.unwrap_or(LogLevel::Emergency);
        if client.log_level.is_some_and(|wanted| wanted <= level) {
            client.notify.offer(message.clone());
        }
    }

    /// Takes out all questions, and goes on in `stage`.
    fn unanswered(&self, stage: Stage) -> Vec<Question> {
        let mut state = self.state();
        state.stage = stage;
        let questions = std::mem::take(&mut state.questions);
        questions
            .into_iter()
            .map(|(_, question)| question)
            .collect()
    }

    fn log_level(&self) -> Option<LogLevel> {
        self.client()?.log_level
    }

    /// The client that waits for the call now.
    fn client(&self) -> Option<Client> {
        let state = self.state();
        (state.stage == Stage::Attached).then(|| state.client.clone())
    }

    fn stage(&self) -> Stage {
        self.state().stage
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn new(client: Client) -> Self {
        Self {
            client,
            stage: Stage::Attached,
            questions: Vec::new(),
            asked: 0,
        }
    }
}

impl Client {
    /// The client that makes `call`.
    pub(super) fn of(call: &Call) -> Self {
        let meta = call.params.get("_meta").filter(RawJson::is_object);
        let meta = meta.unwrap_or_else(RawJson::empty_object);
        let peer = PeerInfo::new(call.cx.peer.version(), meta);
        Self {
            log_level: peer.log_level(),
            notify: call.cx.notify.clone(),
            peer,
        }
    }

    /// Whether the client wants log messages.
    pub(super) fn wants_logs(&self) -> bool {
        self.log_level.is_some()
    }

    /// Whether the client knows the tasks of the extension.
    pub(super) fn knows_tasks(&self) -> bool {
        self.peer.declares(&["extensions", task::EXTENSION])
    }

    /// Whether the client opens pages for its user.
    pub(super) fn opens_urls(&self) -> bool {
        self.peer.declares(&["elicitation", "url"])
    }

    /// Whether the client wants to know how far its call has come.
    pub(super) fn wants_progress(&self) -> bool {
        self.peer.progress_token().is_some()
    }
}

/// Whether the result of `method` may ask for input.
pub(super) fn carries_input(method: &str) -> bool {
    matches!(
        method,
        method::TOOLS_CALL | method::PROMPTS_GET | method::RESOURCES_READ
    )
}

/// Whether all calls are of the same caller. Nobody knows that of several anonymous ones.
fn is_of_one_caller(flights: &[Arc<Flight>]) -> bool {
    match flights {
        [] | [_] => true,
        [first, rest @ ..] => {
            first.caller != Caller::Anonymous
                && rest.iter().all(|flight| flight.caller == first.caller)
        }
    }
}
