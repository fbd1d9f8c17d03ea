use std::sync::Arc;

use callgate_wire::legacy::elicitation::ElicitationCompleteParams;
use callgate_wire::legacy::meta::RELATED_TASK;
use callgate_wire::legacy::method as old;
use callgate_wire::{Id, Notification, RawJson, Request, RpcError, code, method};

use super::call_table::OldCall;
use super::question::Question;
use super::session::SessionShared;
use super::transport::ServerMessage;
use crate::subscribers::ServerChange;

impl SessionShared {
    /// Handles a message of the server that belongs to a call, or to none. Never waits.
    pub(super) fn handle_message(&self, message: ServerMessage, of: Option<&Arc<OldCall>>) {
        match message {
            ServerMessage::Request(request) => self.handle_request(request, of),
            ServerMessage::Notification(notification) => {
                self.handle_notification(&notification, of);
            }
        }
    }

    fn handle_request(&self, request: Request, of: Option<&Arc<OldCall>>) {
        let method = request.method.as_str();
        if method == old::PING {
            return self
                .reply_sender
                .post(request.id, Ok(RawJson::empty_object()));
        }
        if !Question::is_asked_by(method) {
            let text = format!("method `{method}` not found");
            let error = RpcError::new(code::METHOD_NOT_FOUND, text);
            return self.reply_sender.post(request.id, Err(error));
        }
        // A task that the server names decides which client is asked.
        let task = request.params.at(&["_meta", RELATED_TASK, "taskId"]);
        let task = task.as_ref().and_then(RawJson::text);
        let of_task = task.and_then(|task| self.tasks.old_call(&task));
        let of = of_task.as_ref().or(of);
        match Question::read(&request) {
            Ok(question) => self.handle_question(question, of),
            Err(error) => self.reply_sender.post(request.id, Err(error)),
        }
    }

    fn handle_question(&self, question: Question, of: Option<&Arc<OldCall>>) {
        let target = match of {
            None => self.calls.target_of(&question),
            Some(old_call) => old_call.suits(&question).map(|()| Some(old_call.clone())),
        };
        let id = question.id.clone();
        let placed = target.and_then(|target| {
            let placed = match target {
                Some(old_call) => old_call.ask(question),
                None => self.unassigned.put(question),
            };
            let text = "too many questions wait for answers";
            placed.map_err(|_| RpcError::new(code::INTERNAL_ERROR, text))
        });
        if let Err(error) = placed {
            self.reply_sender.post(id, Err(error));
        }
    }

    fn handle_notification(&self, notification: &Notification, of: Option<&Arc<OldCall>>) {
        let Notification { method, params } = notification;
        match method.as_str() {
            method::NOTIFICATIONS_PROGRESS => {
                let token = params.get("progressToken").and_then(number);
                if let Some(old_call) = token.and_then(|number| self.calls.get(number)) {
                    old_call.progress(notification);
                }
            }
            method::NOTIFICATIONS_MESSAGE => match of {
                Some(old_call) => old_call.log(notification),
                None => self.calls.log(notification),
            },
            method::NOTIFICATIONS_CANCELLED => {
                let id = params.get("requestId").and_then(|id| Id::try_from(id).ok());
                if let Some(id) = id {
                    self.calls.withdraw(&id);
                    self.unassigned.take(|question| question.id == id);
                    self.tasks.withdraw(&id);
                }
            }
            old::NOTIFICATIONS_ELICITATION_COMPLETE => {
                if let Ok(complete) = params.decode::<ElicitationCompleteParams>() {
                    self.url_elicitations.complete(complete.elicitation_id);
                }
            }
            method::NOTIFICATIONS_TOOLS_LIST_CHANGED => {
                // Before the change is announced: a client that reacts at once must not be served from the
                // old list.
                *self.tools.lock() = None;
                self.listeners.publish(&ServerChange::Tools);
            }
            method::NOTIFICATIONS_PROMPTS_LIST_CHANGED => {
                self.listeners.publish(&ServerChange::Prompts);
            }
            method::NOTIFICATIONS_RESOURCES_LIST_CHANGED => {
                self.listeners.publish(&ServerChange::Resources);
            }
            method::NOTIFICATIONS_RESOURCES_UPDATED => {
                let uri = params.get("uri");
                if let Some(uri) = uri.as_ref().and_then(RawJson::text) {
                    for uri in self.resource_subscriptions.covering(&uri) {
                        self.listeners.publish(&ServerChange::Resource(uri));
                    }
                }
            }
            _ => match of {
                Some(old_call) => old_call.pass(notification),
                None => self.calls.pass(notification, &self.listen_streams),
            },
        }
    }
}

/// Number of one of our calls.
fn number(token: RawJson) -> Option<u64> {
    Id::try_from(token).ok()?.echoed_number()
}
