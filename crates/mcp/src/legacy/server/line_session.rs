use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use callgate_wire::legacy::method as old;
use callgate_wire::{Limits, Notification, RawJson, Request, Response, meta};
use futures_util::FutureExt;
use tokio::task::AbortHandle;

use super::batch;
use super::config::Config;
use super::era::{Clues, Era, Named, decide};
use super::outlet::{Message, Outlet};
use super::session::Session;
use crate::error::{Error, Kind};
use crate::service::{Caller, Service};

/// The old client at the other end of lines: the connection is its session.
pub(crate) struct LineSession {
    service: Arc<dyn Service>,
    config: Config,
    limits: Limits,
    state: Mutex<State>,
}

enum State {
    /// Nobody has performed a handshake.
    Closed,
    /// The service is being asked what it can do. What comes in the meantime waits.
    Opening {
        waiting: Waiting,
        abort: AbortHandle,
    },
    Open(Arc<Session>),
}

#[derive(Default)]
struct Waiting {
    messages: Vec<Waited>,
    bytes: usize,
}

enum Waited {
    Request(Request),
    Notification(Notification),
    Response(Response),
    Batch(Bytes),
}

impl LineSession {
    pub(crate) fn new(service: Arc<dyn Service>, config: Config, limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            service,
            config,
            limits,
            state: Mutex::new(State::Closed),
        })
    }

    /// Works on a request that does not carry the metadata of the newest revision, unless it
    /// claims to: then it is given back.
    pub(crate) fn start(
        self: &Arc<Self>,
        request: Request,
        outlet: &Arc<dyn Outlet>,
    ) -> Result<(), Request> {
        let mut state = self.state();
        match self.era(&state, &request) {
            Era::Handshake => self.open(&mut state, request, outlet),
            Era::Session | Era::Alone(_) => {
                self.deliver(&mut state, Waited::Request(request), outlet);
            }
            Era::Modern | Era::NoSession | Era::UnknownVersion => return Err(request),
        }
        Ok(())
    }

    /// Takes a notification of the client.
    pub(crate) fn notified(&self, notification: Notification, outlet: &Arc<dyn Outlet>) {
        let waited = Waited::Notification(notification);
        self.deliver(&mut self.state(), waited, outlet);
    }

    /// Takes the answer to a question.
    pub(crate) fn answered(&self, response: Response, outlet: &Arc<dyn Outlet>) {
        self.deliver(&mut self.state(), Waited::Response(response), outlet);
    }

    /// Works on several messages in one, if there is a session; says whether there is.
    pub(crate) fn batch(&self, array: Bytes, outlet: &Arc<dyn Outlet>) -> bool {
        let mut state = self.state();
        let has_session = !matches!(*state, State::Closed);
        self.deliver(&mut state, Waited::Batch(array), outlet);
        has_session
    }

    /// Whether nothing is being worked on.
    pub(crate) fn is_idle(&self) -> bool {
        match &*self.state() {
            State::Closed => true,
            State::Opening { .. } => false,
            State::Open(session) => session.in_flight() == 0,
        }
    }

    /// Cancels everything.
    pub(crate) fn close(&self) {
        match std::mem::replace(&mut *self.state(), State::Closed) {
            State::Closed => {}
            State::Opening { abort, .. } => abort.abort(),
            State::Open(session) => session.close(),
        }
    }

    fn era(&self, state: &State, request: &Request) -> Era {
        let names_version = request.params.at(&["_meta", meta::PROTOCOL_VERSION]);
        decide(Clues {
            method: Some(request.method.as_str()),
            names_version: names_version.is_some(),
            header: None,
            session: match state {
                State::Closed => Named::Nothing,
                State::Opening { .. } | State::Open(_) => Named::Open,
            },
        })
    }

    /// Opens the session of this connection; another one takes its place.
    fn open(self: &Arc<Self>, state: &mut State, request: Request, outlet: &Arc<dyn Outlet>) {
        if let State::Opening { .. } = state {
            let error = Error::new(Kind::InvalidRequest, "the session is being opened already");
            return outlet.push(Message::response(Some(&request.id), &Err(error)));
        }
        if let State::Open(session) = state {
            session.close();
        }
        let opening = self.clone().opened(request, outlet.clone());
        *state = State::Opening {
            waiting: Waiting::default(),
            abort: tokio::spawn(opening).abort_handle(),
        };
    }

    async fn opened(self: Arc<Self>, request: Request, outlet: Arc<dyn Outlet>) {
        let service = self.service.clone();
        let open = Session::open(service, Caller::Local, &request.params, self.config);
        let opened = AssertUnwindSafe(open).catch_unwind().await;
        let opened =
            opened.unwrap_or_else(|_panic| Err(Error::internal("the request handler panicked")));
        // Held until all that waited is under way, so that nobody takes the session for idle.
        let mut state = self.state();
        let (next, outcome) = match opened {
            Ok((session, result)) => (State::Open(session), Ok(result)),
            Err(error) => (State::Closed, Err(error)),
        };
        outlet.push(Message::response(Some(&request.id), &outcome));
        if let State::Open(session) = &next {
            session.listen(Some(outlet.clone()));
        }
        if let State::Opening { waiting, .. } = std::mem::replace(&mut *state, next) {
            for waited in waiting.messages {
                self.deliver(&mut state, waited, &outlet);
            }
        }
    }

    fn deliver(&self, state: &mut State, waited: Waited, outlet: &Arc<dyn Outlet>) {
        match (state, waited) {
            (State::Open(session), Waited::Request(request)) => {
                session.start(request, outlet.clone());
            }
            (State::Open(session), Waited::Notification(notification)) => {
                session.notified(notification);
            }
            (State::Open(session), Waited::Response(response)) => session.answered(response),
            (State::Open(session), Waited::Batch(array)) => {
                let received = batch::receive(session, &array, &self.limits, outlet.clone());
                if let Err(error) = received {
                    outlet.push(Message::response(None, &Err(error)));
                }
            }
            (State::Opening { waiting, .. }, waited) => {
                if let Err(Waited::Request(request)) = waiting.add(waited, &self.config) {
                    let busy = Err(Error::new(Kind::Busy, "too many requests in flight"));
                    outlet.push(Message::response(Some(&request.id), &busy));
                }
            }
            (State::Closed, Waited::Request(request)) => {
                let outcome = alone(&request);
                outlet.push(Message::response(Some(&request.id), &outcome));
            }
            (State::Closed, _) => {}
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn add(&mut self, waited: Waited, config: &Config) -> Result<(), Waited> {
        let bytes = self.bytes + waited.bytes();
        if self.messages.len() >= config.in_flight || bytes > config.in_flight_bytes {
            return Err(waited);
        }
        self.bytes = bytes;
        self.messages.push(waited);
        Ok(())
    }
}

impl Waited {
    fn bytes(&self) -> usize {
        match self {
            Self::Request(request) => request.params.as_bytes().len(),
            Self::Notification(notification) => notification.params.as_bytes().len(),
            Self::Response(Response { outcome, .. }) => match outcome {
                Ok(value) | Err(value) => value.as_bytes().len(),
            },
            Self::Batch(array) => array.len(),
        }
    }
}

/// Before a handshake a client may do nothing but ask whether anybody is there.
fn alone(request: &Request) -> Result<RawJson, Error> {
    match request.method.as_str() {
        old::PING => Ok(RawJson::empty_object()),
        _ => Err(Error::invalid_params(
            "params must have the object `_meta`; a client of an older revision must send \
             `initialize` first",
        )),
    }
}
