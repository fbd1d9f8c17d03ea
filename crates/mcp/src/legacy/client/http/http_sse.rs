use std::sync::Arc;
use std::time::Duration;

use callgate_wire::{Frame, RawJson};
use http::Uri;

use super::events::EventReader;
use super::resolve::{resolve, same_origin};
use super::session_link::SessionLink;
use super::streamable_request::SentRequest;
use crate::error::{Error, Kind, Retry};
use crate::legacy::client::background::BackgroundSender;
use crate::legacy::client::{MessageSender, OldRequest};
use crate::legacy::pending_responses::{PendingResponses, Rejected};
use crate::transport::http::client::{Content, HttpUpstream};
use crate::upstream::server_timeout::server_timeout;

/// Time to wait for the event that names the URL to post to.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens the stream of a server: the link of its session, and the events after the first one, which
/// names the URL to post to.
pub(super) async fn open(
    upstream: Arc<HttpUpstream>,
    background: BackgroundSender,
) -> Result<(Arc<SessionLink>, EventReader), Error> {
    let opening = SessionLink::new(upstream.clone(), None, background.clone());
    let auth_wait = || upstream.auth_wait_until();
    let first = server_timeout(ENDPOINT_TIMEOUT, auth_wait, connect(&opening)).await;
    let (events, target) = first.unwrap_or_else(|_| {
        let did = format!("did not say within {ENDPOINT_TIMEOUT:?} where to post messages to");
        Err(opening.failed(Kind::Timeout, &did))
    })?;
    let link = SessionLink::new(upstream, Some(target), background);
    Ok((Arc::new(link), events))
}

/// Opens the stream, and waits for the URL that messages are posted to.
async fn connect(link: &SessionLink) -> Result<(EventReader, Uri), Error> {
    let (head, body) = link.upstream().send(link.get(None)).await?;
    let limits = link.upstream().config().limits;
    let is_stream = matches!(Content::of(&head.headers), Content::Events);
    if head.status != 200 || !is_stream {
        return Err(link.failure(&head, &body.beginning(limits.error).await));
    }
    let mut events = EventReader::new(body, limits.event);
    loop {
        let next = events.next().await;
        let next = next.map_err(|error| link.too_large("an event", error.limit))?;
        let Some(event) = next else {
            let did = "ended the stream before it said where to post messages to";
            return Err(link.failed(Kind::Closed, did));
        };
        match event.event.as_deref() {
            Some("endpoint") => {
                let target = post_target(link, &event.data)?;
                return Ok((events, target));
            }
            // Such an event only sets an id or the time to reconnect.
            _ if event.data.is_empty() => {}
            _ => {
                let did = "sent a message before it said where to post messages to";
                return Err(link.failed(Kind::Protocol, did));
            }
        }
    }
}

/// Request target of a POST to the URL that the server names.
///
/// A URL of another origin is refused: our credentials would be sent there.
fn post_target(link: &SessionLink, named: &[u8]) -> Result<Uri, Error> {
    let base = link.upstream().uri();
    let named = std::str::from_utf8(named).ok();
    let target = named.and_then(|named| resolve(base, named.trim()));
    match target {
        Some(target) if same_origin(base, &target) => Ok(target
            .path_and_query()
            .cloned()
            .map_or_else(Uri::default, Uri::from)),
        Some(_) => {
            let did = "wants messages posted to another origin, which is refused";
            Err(link.failed(Kind::Protocol, did))
        }
        None => Err(link.failed(Kind::Protocol, "named no URL to post messages to")),
    }
}

/// Handles messages up to the end of the stream, which is the end of the session.
pub(super) async fn read(
    link: Arc<SessionLink>,
    waiting: Arc<PendingResponses>,
    messages: MessageSender,
    mut events: EventReader,
) {
    let take = |frame| match frame {
        Frame::Response(response) => waiting.answer(response),
        frame => link.dispatch(&messages, frame),
    };
    if let Err(error) = link.read_messages(&mut events, take).await {
        tracing::warn!(%error, "closed a stream");
    }
    // Before the requests fail, so that their callers find the session closed.
    link.end_by_server("ended the stream of the session");
    waiting.end();
}

/// Posts a request and waits for its response on the stream.
pub(super) async fn send_request(
    link: Arc<SessionLink>,
    waiting: Arc<PendingResponses>,
    request: OldRequest,
) -> Result<RawJson, Error> {
    let (mut sent, message) = SentRequest::new(link, &request);
    // Its params may be a slice of a large message, and a call may wait long for its answer.
    drop(request);
    let link = sent.link.clone();
    // Entered before the POST: the response may arrive on the stream while the POST is still open.
    let mut pending = waiting.enter(sent.number).map_err(|refused| {
        sent.disarm();
        match refused {
            Rejected::Ended => link.gone(),
            Rejected::Full => {
                let text = "too many requests wait for the responses of one server";
                Error::new(Kind::Busy, text).retry_safe()
            }
        }
    })?;
    let id = sent.id();
    let posting = async {
        let (head, body) = link.upstream().send(link.post(message)).await?;
        match head.status.is_success() {
            // The body of a success is empty or without meaning, and is dropped.
            true => Ok(()),
            false => Err(link.refusal(&head, body, Some(&id)).await),
        }
    };
    let outcome = tokio::select! {
        // A response on the stream counts, whatever becomes of the POST.
        biased;
        outcome = &mut pending.outcome => outcome,
        posted = posting => match posted {
            Ok(()) => (&mut pending.outcome).await,
            Err(error) => {
                // Only after a connection that broke may the server have the request without saying so.
                if error.retry() == Retry::Safe || error.kind() != Kind::Closed {
                    sent.disarm();
                }
                return Err(error);
            }
        },
    };
    sent.disarm();
    match outcome {
        Ok(outcome) => link.outcome(outcome),
        Err(_) => Err(link.failed(Kind::Closed, "ended the stream before the response")),
    }
}
