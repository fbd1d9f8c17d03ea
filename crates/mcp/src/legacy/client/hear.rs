use std::sync::Arc;

use callgate_wire::legacy::elicitation::ElicitationCompleteParams;
use callgate_wire::legacy::meta::RELATED_TASK;
use callgate_wire::legacy::method as old;
use callgate_wire::{Id, Notification, RawJson, Request, RpcError, code, method};

use super::flight::{Flight, Place};
use super::question::Question;
use super::session::Shared;
use super::transport::Incoming;
use crate::router::listeners::Change;

impl Shared {
    /// Deals with what the server says, on behalf of a call or of none. Never waits.
    pub(super) fn hear(&self, message: Incoming, of: Option<&Arc<Flight>>) {
        match message {
            Incoming::Request(request) => self.hear_request(request, of),
            Incoming::Notification(notification) => self.hear_notification(&notification, of),
        }
    }

    fn hear_request(&self, request: Request, of: Option<&Arc<Flight>>) {
        let method = request.method.as_str();
        if method == old::PING {
            return self.replies.post(request.id, Ok(RawJson::empty_object()));
        }
        if !Question::is_asked_by(method) {
            let text = format!("method `{method}` not found");
            let error = RpcError::new(code::METHOD_NOT_FOUND, text);
            return self.replies.post(request.id, Err(error));
        }
        // Where the server names a task, it says whom to ask.
        let task = request.params.at(&["_meta", RELATED_TASK, "taskId"]);
        let task = task.as_ref().and_then(RawJson::text);
        let of_task = task.and_then(|task| self.tasks.flight(&task));
        let of = of_task.as_ref().or(of);
        match Question::read(&request) {
            Ok(question) => self.hear_question(question, of),
            Err(error) => self.replies.post(request.id, Err(error)),
        }
    }

    fn hear_question(&self, question: Question, of: Option<&Arc<Flight>>) {
        let place = match of {
            None => self.flights.place(&question),
            Some(flight) => match flight.suits(&question) {
                Ok(()) => Place::Call(flight.clone()),
                Err(error) => Place::Nobody(error),
            },
        };
        let id = question.id.clone();
        let placed = match place {
            Place::Call(flight) => flight.ask(question).map_err(|_| too_many()),
            Place::Next => self.unclaimed.put(question).map_err(|_| too_many()),
            Place::Nobody(error) => Err(error),
        };
        if let Err(error) = placed {
            self.replies.post(id, Err(error));
        }
    }

    fn hear_notification(&self, notification: &Notification, of: Option<&Arc<Flight>>) {
        let Notification { method, params } = notification;
        match method.as_str() {
            method::NOTIFICATIONS_PROGRESS => {
                let token = params.get("progressToken").and_then(number);
                if let Some(flight) = token.and_then(|number| self.flights.get(number)) {
                    flight.progress(notification);
                }
            }
            method::NOTIFICATIONS_MESSAGE => match of {
                Some(flight) => flight.log(notification),
                None => self.flights.log(notification),
            },
            method::NOTIFICATIONS_CANCELLED => {
                let id = params.get("requestId").and_then(|id| Id::try_from(id).ok());
                if let Some(id) = id {
                    self.flights.withdraw(&id);
                    self.unclaimed.withdraw(&id);
                    self.tasks.withdraw(&id);
                }
            }
            old::NOTIFICATIONS_ELICITATION_COMPLETE => {
                if let Ok(ElicitationCompleteParams { elicitation_id }) = params.decode() {
                    self.pages.complete(elicitation_id);
                }
            }
            method::NOTIFICATIONS_TOOLS_LIST_CHANGED => {
                self.tools.forget();
                self.listeners.tell(&Change::Tools);
            }
            method::NOTIFICATIONS_PROMPTS_LIST_CHANGED => self.listeners.tell(&Change::Prompts),
            method::NOTIFICATIONS_RESOURCES_LIST_CHANGED => {
                self.listeners.tell(&Change::Resources);
            }
            method::NOTIFICATIONS_RESOURCES_UPDATED => {
                let uri = params.get("uri");
                if let Some(uri) = uri.as_ref().and_then(RawJson::text) {
                    for watched in self.watched.covering(&uri) {
                        self.listeners.tell(&Change::Resource(watched));
                    }
                }
            }
            _ => tracing::debug!(%method, "ignored a notification"),
        }
    }
}

fn too_many() -> RpcError {
    RpcError::new(code::INTERNAL_ERROR, "too many questions wait for answers")
}

/// The number of one of our calls. Some servers turn numbers into strings.
fn number(token: RawJson) -> Option<u64> {
    let token = Id::try_from(token).ok()?;
    let number = token.as_number();
    number.or_else(|| token.as_raw().text()?.parse().ok())
}
