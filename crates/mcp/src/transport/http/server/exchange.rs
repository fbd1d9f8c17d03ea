use std::sync::Arc;

use callgate_wire::{Frame, Method, Request as Message, method};
use http::request::Parts;
use http::{Method as Verb, Request, Response};
use hyper::body::Incoming;

use super::answer::{self, Refusal};
use super::body::Body;
use super::config::Config;
use super::events::EventStream;
use super::fields::{Field, Fields};
use super::guard::Policy;
use super::head::{self, Admitted};
use super::intake::{self, Room};
use super::listener::Draining;
use super::posted::Posted;
use super::running::{First, Running};
use super::vitals::Vitals;
use super::{documents, legacy, mirror};
use crate::error::{Error, Kind};
use crate::legacy::server::http::Endpoint;
use crate::notifier::Notifier;
use crate::server::accept;
use crate::service::{BoxFuture, Service};

/// What every exchange of a server shares.
pub(super) struct Shared {
    pub(super) service: Arc<dyn Service>,
    pub(super) config: Config,
    pub(super) policy: Policy,
    pub(super) draining: Draining,
    pub(super) bodies: Room,
    /// What clients of older revisions see, if they are served.
    pub(super) legacy: Option<Endpoint>,
}

/// Answers one request. Dropping the future cancels it.
pub(super) async fn exchange(
    shared: Arc<Shared>,
    vitals: Arc<Vitals>,
    request: Request<Incoming>,
) -> Response<Body> {
    vitals.begin_exchange();
    let (head, body) = request.into_parts();
    let fields = Fields::read(&head.headers);
    let mut response = if vitals.is_ambiguous() {
        answer::refuse(Refusal::Ambiguous)
    } else {
        respond(&shared, &head, &fields, body)
            .await
            .unwrap_or_else(answer::refuse)
    };
    // Where a chunked body ended is not followed, so nothing can come after it.
    let last = fields.transfer_encoding != Field::Absent;
    if last || shared.draining.has_begun() {
        answer::close_after(&mut response);
    }
    response.body_mut().reports_to(vitals);
    response
}

async fn respond(
    shared: &Shared,
    head: &Parts,
    fields: &Fields<'_>,
    body: Incoming,
) -> Result<Response<Body>, Refusal> {
    let Shared { policy, config, .. } = shared;
    policy.check_host(&head.uri, fields)?;
    if let Some(document) = documents::find(config, head.uri.path()) {
        return documents::answer(document, &head.method);
    }
    let admitted = head::admit(&head.method, &head.uri, fields, policy, config).await?;
    if head.method != Verb::POST {
        return legacy::without_message(shared, head, admitted);
    }
    let limits = &config.limits;
    // The place is kept until there is an answer, or the first part of one.
    let (body, _place) = intake::read(body, limits, &shared.bodies).await?;
    let posted = Posted::parse(&body, &limits.json());
    if let Some(claim) = legacy::claim(shared, head, fields, &admitted, &posted) {
        // Boxed, so that those who are not old do not carry it.
        return Ok(Box::pin(legacy::post(claim, admitted, posted)).await);
    }
    Ok(match posted {
        Posted::One(Frame::Request(message)) => call(shared, fields, admitted, message).await,
        Posted::One(Frame::Notification(_)) => answer::accepted(),
        Posted::One(Frame::Response(_)) => {
            let error = Error::new(Kind::InvalidRequest, "a client must not send responses");
            answer::reject(None, &error)
        }
        Posted::Array(_, error) | Posted::Malformed(error) => answer::reject_frame(&error),
    })
}

async fn call(
    shared: &Shared,
    fields: &Fields<'_>,
    admitted: Admitted,
    message: Message,
) -> Response<Body> {
    let Admitted { caller, accepts } = admitted;
    let peer = match mirror::check(fields, &message, shared.config.header_params.as_ref()) {
        Ok(peer) => peer,
        Err(error) => return answer::reject(Some(&message.id), &error),
    };
    if !accepts.events && message.method.as_str() == method::SUBSCRIPTIONS_LISTEN {
        // All that it would ever say are events.
        let error = Error::new(Kind::InvalidRequest, "Accept must allow text/event-stream");
        return answer::reject(Some(&message.id), &error);
    }
    let limits = &shared.config.limits;
    let (notify, notifications) = if accepts.events {
        let (notify, notifications) = Notifier::channel(limits.notifications);
        (notify, Some(notifications))
    } else {
        (Notifier::disabled(), None)
    };
    let end = subscription_end(&message.method, &shared.draining);
    let call = accept::call(message, peer, caller, notify);
    let mut running = Running::start(shared.service.clone(), call, notifications);

    let first = if accepts.json {
        running.first(limits.keep_alive).await
    } else {
        First::Quiet
    };
    let first = match first {
        First::Outcome(outcome) if !accepts.events => {
            return answer::outcome(running.id(), outcome);
        }
        First::Outcome(outcome) => match running.waiting_notification() {
            None => return answer::outcome(running.id(), outcome),
            Some(notification) => (Some(notification), Some(outcome)),
        },
        First::Notification(notification) => (Some(notification), None),
        First::Quiet => (None, None),
    };
    let mut stream = EventStream::new(running, limits.keep_alive, end);
    if let (Some(notification), outcome) = first {
        stream.push(&notification);
        if let Some(outcome) = outcome {
            stream.finish(outcome);
        }
    }
    answer::events(stream)
}

/// What ends a subscription when the server does; other calls are let finish.
fn subscription_end(method: &Method, draining: &Draining) -> Option<BoxFuture<'static, ()>> {
    (method.as_str() == method::SUBSCRIPTIONS_LISTEN).then(|| {
        let draining = draining.clone();
        Box::pin(async move { draining.begun().await }) as BoxFuture<'static, ()>
    })
}
