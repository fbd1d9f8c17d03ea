use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use callgate_wire::legacy::elicitation::ElicitationCompleteParams;
use callgate_wire::legacy::method as old;
use callgate_wire::logging::LogLevel;
use callgate_wire::result::ResultType;
use callgate_wire::{Method, Notification, RawJson, Request, Splice, code, method};
use futures_util::FutureExt;

use super::ask::{Answers, unheard};
use super::convert;
use super::outlet::{Message, Outlet};
use super::session::Session;
use super::tasks::must_be_a_task;
use super::upstream::{Asking, Upstream};
use crate::client::{TRY_AGAIN, may_ask, next_round};
use crate::error::{Error, Kind};
use crate::notifier::Notifier;
use crate::service::Reply;

/// The most notifications of one request that wait to be sent.
const NOTIFICATIONS: usize = 64;

impl Session {
    /// Passes a request on to the service and returns the result as the client knows it. Dropping
    /// the future cancels all of it.
    pub(super) async fn forward(
        &self,
        request: &Request,
        outlet: &Arc<dyn Outlet>,
    ) -> Result<RawJson, Error> {
        let method = &request.method;
        let outcome = self.drive(&self.upstream, request, outlet).await;
        let result = match (outcome, self.tasks()) {
            (Err(error), Some(tasks)) if must_be_a_task(request, &error) => {
                self.hold(tasks, request, outlet).await?
            }
            (outcome, _) => outcome?,
        };
        check_complete(method, &result)?;
        let result = convert::result(self.version(), method, &result);
        Ok(match (method.as_str(), self.known_tasks()) {
            (method::TOOLS_LIST, Some(_)) => convert::with_task_support(&result),
            _ => result,
        })
    }

    /// Sends a request to `upstream`, and again with what the client answers to its questions,
    /// until there is a result.
    pub(super) async fn drive(
        &self,
        upstream: &Upstream,
        request: &Request,
        outlet: &Arc<dyn Outlet>,
    ) -> Result<RawJson, Error> {
        let method = &request.method;
        let params = original(&request.params)?;
        let mut asked = params.clone();
        let mut opened = Vec::new();
        let mut tries = 0;
        for _ in 0..=self.config.rounds {
            let required = match self.exchange(upstream, request, &asked, outlet).await? {
                Reply::Complete(result) => {
                    pages_done(&opened, outlet).await;
                    return Ok(result);
                }
                Reply::InputRequired(required) => required,
            };
            if !may_ask(method) {
                return Err(breach(format!("`{method}` must not ask for input")));
            }
            let [requests, state] = required.pick(["inputRequests", "requestState"]);
            let answers = match &requests {
                Some(requests) => self.ask(requests, outlet, None).await?,
                None if state.is_none() => {
                    return Err(breach(format!("`{method}` asks for input but for none")));
                }
                None => {
                    tokio::time::sleep(TRY_AGAIN.delay(tries)).await;
                    tries += 1;
                    Answers::default()
                }
            };
            opened.extend(answers.opened);
            asked = next_round(&params, &answers.responses, state.as_ref())?;
        }
        let rounds = self.config.rounds;
        let message = format!("`{method}` still asks for input after {rounds} rounds");
        Err(Error::new(Kind::InputRequired, message))
    }

    /// One call of the service, and what it says on the way.
    async fn exchange(
        &self,
        upstream: &Upstream,
        request: &Request,
        params: &RawJson,
        outlet: &Arc<dyn Outlet>,
    ) -> Result<Reply, Error> {
        let level = self.level();
        let (notify, mut notifications) = Notifier::channel(NOTIFICATIONS);
        let asking = Asking {
            id: &request.id,
            method: &request.method,
            params,
            level,
        };
        let can_be_asked = outlet.carries_questions();
        let mut answer = match can_be_asked {
            true => upstream.call(&asking, notify)?,
            false => upstream.without_questions().call(&asking, notify)?,
        };
        let wants_progress = params.at(&["_meta", "progressToken"]).is_some();
        let is_wanted = |notification: &Notification| match notification.method.as_str() {
            method::NOTIFICATIONS_PROGRESS => wants_progress,
            method::NOTIFICATIONS_MESSAGE => is_loud(notification, level),
            _ => true,
        };
        loop {
            let event = with_room(outlet, |cx| match answer.as_mut().poll(cx) {
                Poll::Ready(outcome) => Poll::Ready(Event::Answered(outcome)),
                Poll::Pending => notifications.poll_next(cx).map(Event::Notified),
            });
            match event.await {
                Event::Notified(notification) => {
                    if is_wanted(&notification) {
                        tell(&notification, outlet).await;
                    }
                }
                Event::Answered(outcome) => {
                    while let Some(notification) = notifications.try_next() {
                        if is_wanted(&notification) {
                            tell(&notification, outlet).await;
                        }
                    }
                    return match outcome {
                        Err(error) if !can_be_asked && wants_to_ask(&error) => Err(unheard()),
                        outcome => outcome,
                    };
                }
            }
        }
    }
}

enum Event {
    Notified(Notification),
    Answered(Result<Reply, Error>),
}

/// Waits for what `poll` brings, which stands still while there is no room on `outlet`: for a
/// client that does not read, no results pile up.
async fn with_room<T>(
    outlet: &Arc<dyn Outlet>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> T {
    loop {
        outlet.room().await;
        let looked = poll_fn(|cx| match outlet.room().now_or_never() {
            Some(()) => poll(cx).map(Some),
            None => Poll::Ready(None),
        });
        if let Some(found) = looked.await {
            return found;
        }
    }
}

/// Whether a service fails because its client cannot be asked.
fn wants_to_ask(error: &Error) -> bool {
    let required = error
        .data()
        .and_then(|data| data.get("requiredCapabilities"));
    error.code() == code::MISSING_REQUIRED_CLIENT_CAPABILITY
        && required.is_some_and(|required| required.get("extensions").is_none())
}

/// The params without what only a server may have given the client, or only 2025-11-25 has.
fn original(params: &RawJson) -> Result<RawJson, Error> {
    Splice::new(&convert::decode_cursor(params))
        .remove(&["inputResponses"])
        .remove(&["requestState"])
        .remove(&["task"])
        .finish()
        .map_err(|error| Error::invalid_params("params must be an object").with_source(error))
}

fn check_complete(method: &Method, result: &RawJson) -> Result<(), Error> {
    match ResultType::of(result) {
        Ok(ResultType::Complete) if result.is_object() => Ok(()),
        _ => Err(breach(format!(
            "`{method}` was answered with a result of a type that it must not have"
        ))),
    }
}

/// Says that the user is done with the pages that were opened for this request.
pub(super) async fn pages_done(opened: &[String], outlet: &Arc<dyn Outlet>) {
    for id in opened {
        let params = ElicitationCompleteParams {
            elicitation_id: id.clone(),
        };
        let notification = Notification {
            method: Method::new(old::NOTIFICATIONS_ELICITATION_COMPLETE),
            params: RawJson::encode(&params).expect("params are always JSON"),
        };
        tell(&notification, outlet).await;
    }
}

async fn tell(notification: &Notification, outlet: &Arc<dyn Outlet>) {
    outlet.room().await;
    let Notification { method, params } = notification;
    outlet.push(Message::notification(method, params));
}

/// Whether a log message is of the level that the client wants, or above.
fn is_loud(notification: &Notification, wanted: Option<LogLevel>) -> bool {
    let level = notification.params.get("level");
    let level: Option<LogLevel> = level.and_then(|level| level.decode().ok());
    match (level, wanted) {
        (Some(level), Some(wanted)) => level >= wanted,
        // A level that we do not know is for the client to judge.
        (None, Some(_)) => true,
        (_, None) => false,
    }
}

fn breach(what: String) -> Error {
    Error::new(Kind::Protocol, what)
}
