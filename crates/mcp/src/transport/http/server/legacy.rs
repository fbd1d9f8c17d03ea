//! The way to what serves older revisions.

use std::sync::Arc;

use http::request::Parts;
use http::{Method, Response};

use super::answer::{self, Refusal};
use super::body::Body;
use super::config::Config;
use super::exchange::Shared;
use super::fields::Fields;
use super::head::Admitted;
use super::listener::Draining;
use super::posted::Posted;
use crate::legacy::server::http::{Answer, Claim, Content, Endpoint, Settings, Visitor};
use crate::service::Service;

/// What serves clients of older revisions, if the operator wants it to.
pub(super) fn endpoint(
    service: &Arc<dyn Service>,
    config: &Config,
    draining: &Draining,
) -> Option<Endpoint> {
    let draining = draining.clone();
    let limits = &config.limits;
    let settings = Settings {
        config: config.legacy?,
        path: config.path.clone(),
        json: limits.json(),
        keep_alive: limits.keep_alive,
        shutdown: Box::new(move || {
            let draining = draining.clone();
            Box::pin(async move { draining.begun().await })
        }),
    };
    Some(Endpoint::new(service.clone(), settings))
}

/// Who serves a message of an older revision, and what it belongs to.
pub(super) fn claim<'a>(
    shared: &'a Shared,
    head: &Parts,
    fields: &Fields<'_>,
    admitted: &Admitted,
    posted: &Posted,
) -> Option<(&'a Endpoint, Claim)> {
    let endpoint = shared.legacy.as_ref()?;
    let version = fields.protocol_version.text();
    let claim = endpoint.claim(head, version, &admitted.caller, posted)?;
    Some((endpoint, claim))
}

/// Answers a message of an older revision.
pub(super) async fn post(
    (endpoint, claim): (&Endpoint, Claim),
    admitted: Admitted,
    posted: Posted,
) -> Response<Body> {
    respond(endpoint.post(claim, visitor(admitted), posted).await)
}

/// Answers a request that carries no message.
pub(super) fn without_message(
    shared: &Shared,
    head: &Parts,
    admitted: Admitted,
) -> Result<Response<Body>, Refusal> {
    let endpoint = shared.legacy.as_ref().ok_or(Refusal::NotFound)?;
    let visitor = visitor(admitted);
    Ok(respond(match head.method {
        Method::DELETE => endpoint.delete(head, &visitor),
        _ => endpoint.get(head, &visitor),
    }))
}

fn visitor(admitted: Admitted) -> Visitor {
    Visitor {
        caller: admitted.caller,
        json: admitted.accepts.json,
        events: admitted.accepts.events,
    }
}

fn respond(answer: Answer) -> Response<Body> {
    let (parts, content) = answer.into_parts();
    let mut response = match content {
        Content::Empty => Response::new(Body::empty()),
        Content::Json(json) => answer::json(Body::whole(json)),
        Content::Events(events) => answer::event_stream(Body::legacy(events)),
    };
    *response.status_mut() = parts.status;
    response.headers_mut().extend(parts.headers);
    response
}
