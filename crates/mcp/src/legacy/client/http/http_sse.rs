use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use callgate_wire::legacy::method::INITIALIZE;
use callgate_wire::{Frame, Id, Notification, RawJson, RpcError, Version, encode};
use http::Uri;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::background::BackgroundSender;
use super::events::{EventReader, frames};
use super::pending_responses::{PendingResponses, Rejected};
use super::resolve::{resolve, same_origin};
use super::session_link::SessionLink;
use super::streamable_request::CancelOnDrop;
use crate::error::{Error, Kind, Retry};
use crate::legacy::client::{MessageSender, OldRequest, SessionTransport};
use crate::service::BoxFuture;
use crate::transport::http::client::{Content, HttpUpstream, carries_message};
use crate::upstream::server_timeout::server_timeout;

/// Session over HTTP+SSE: one stream carries all messages of the server, and each of ours is a POST
/// to the URL that the stream names first.
///
/// Dropping it closes the stream, which ends the session.
pub(crate) struct HttpSse {
    link: Arc<SessionLink>,
    waiting: Arc<PendingResponses>,
    reader: JoinHandle<()>,
}

/// Time to wait for the event that names the URL to post to.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(10);

impl HttpSse {
    /// Opens the stream of the server. `messages` receives all of its messages that are not responses.
    ///
    /// # Errors
    /// There is no such stream, or it does not begin with the URL to post to.
    pub(crate) async fn open(
        upstream: Arc<HttpUpstream>,
        messages: MessageSender,
        background: BackgroundSender,
    ) -> Result<Self, Error> {
        let opening = SessionLink::new(upstream.clone(), None, background.clone());
        let auth_wait = || upstream.auth_wait_until();
        let first = server_timeout(ENDPOINT_TIMEOUT, auth_wait, connect(&opening)).await;
        let (events, target) = first.unwrap_or_else(|_| {
            let did = format!("did not say within {ENDPOINT_TIMEOUT:?} where to post messages to");
            Err(opening.failed(Kind::Timeout, &did))
        })?;
        let link = Arc::new(SessionLink::new(upstream, Some(target), background));
        let waiting = Arc::new(PendingResponses::default());
        let reader = tokio::spawn(read(link.clone(), waiting.clone(), messages, events));
        Ok(Self {
            link,
            waiting,
            reader,
        })
    }

    pub(crate) fn link(&self) -> &Arc<SessionLink> {
        &self.link
    }

    /// Ends the session.
    pub(crate) fn close(&self) {
        self.link.end();
        self.reader.abort();
        self.waiting.end();
    }
}

impl SessionTransport for HttpSse {
    fn request(
        &self,
        request: OldRequest,
        _messages: MessageSender,
    ) -> BoxFuture<'static, Result<RawJson, Error>> {
        let (link, waiting) = (self.link.clone(), self.waiting.clone());
        Box::pin(send_request(link, waiting, request))
    }

    fn notify(&self, notification: Notification) -> BoxFuture<'static, Result<(), Error>> {
        let link = self.link.clone();
        Box::pin(async move { link.notify(&notification).await })
    }

    fn respond(
        &self,
        id: Id,
        outcome: Result<RawJson, RpcError>,
    ) -> BoxFuture<'static, Result<(), Error>> {
        let link = self.link.clone();
        Box::pin(async move { link.respond(&id, &outcome).await })
    }

    /// The one stream carries all messages already.
    fn listen(&self) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }

    fn negotiated(&self, version: Version) {
        self.link.negotiated(version);
    }

    fn is_closed(&self) -> bool {
        self.link.is_closed()
    }

    fn auth_wait_until(&self) -> Option<Instant> {
        self.link.upstream().auth_wait_until()
    }
}

impl Drop for HttpSse {
    fn drop(&mut self) {
        self.close();
    }
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
        let next = events.next().await.map_err(|error| {
            let did = format!("sent an event larger than {} bytes", error.limit);
            link.failed(Kind::TooLarge, &did)
        })?;
        let Some(event) = next else {
            let did = "ended the stream before it said where to post messages to";
            return Err(link.failed(Kind::Closed, did));
        };
        match event.event.as_deref() {
            Some("endpoint") => {
                let target = post_target(link, &event.data)?;
                return Ok((events, target));
            }
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
async fn read(
    link: Arc<SessionLink>,
    waiting: Arc<PendingResponses>,
    messages: MessageSender,
    mut events: EventReader,
) {
    let limit = link.upstream().config().limits.event;
    let server = link.upstream().config().name.clone();
    loop {
        let event = match events.next().await {
            Ok(Some(event)) => event,
            Ok(None) => break,
            Err(error) => {
                tracing::warn!(%server, %error, "closed a stream");
                break;
            }
        };
        if !carries_message(&event) {
            continue;
        }
        match frames(&event.data, limit) {
            Ok(frames) => {
                for frame in frames {
                    match frame {
                        Frame::Response(response) => waiting.answer(response),
                        frame => link.hear(&messages, frame),
                    }
                }
            }
            Err(error) => tracing::warn!(%server, %error, "skipped a malformed message"),
        }
    }
    link.end_by_server("ended the stream of the session");
    waiting.end();
}

/// Posts a request and waits for its response on the stream.
async fn send_request(
    link: Arc<SessionLink>,
    waiting: Arc<PendingResponses>,
    request: OldRequest,
) -> Result<RawJson, Error> {
    let number = link.next_number();
    let mut pending = waiting.enter(number).map_err(|refused| match refused {
        Rejected::Ended => link.gone(),
        Rejected::Full => {
            let text = "too many requests wait for the responses of one server";
            Error::new(Kind::Busy, text).retry_safe()
        }
    })?;
    let mut message = BytesMut::new();
    let id = Id::number(number);
    encode::request(&mut message, &id, &request.method, &request.params);
    let mut cancel_on_drop = CancelOnDrop::new(&link, number);
    if request.method.as_str() == INITIALIZE {
        cancel_on_drop.disarm();
    }
    let posting = async {
        let (head, body) = link.upstream().send(link.post(message.freeze())).await?;
        match head.status.is_success() {
            // The body of a success is empty or without meaning, and is dropped.
            true => Ok(()),
            false => Err(link.refusal(&head, body, Some(&id)).await),
        }
    };
    let outcome = tokio::select! {
        biased;
        outcome = &mut pending.outcome => outcome,
        posted = posting => match posted {
            Ok(()) => (&mut pending.outcome).await,
            Err(error) => {
                if error.retry() == Retry::Safe || error.kind() != Kind::Closed {
                    cancel_on_drop.disarm();
                }
                return Err(error);
            }
        },
    };
    cancel_on_drop.disarm();
    match outcome {
        Ok(Ok(result)) if result.is_object() => Ok(result),
        Ok(Ok(_)) => Err(link.failed(Kind::Protocol, "answered with a result that is no object")),
        Ok(Err(error)) => Err(Error::rpc(&link.upstream().config().name, error)),
        Err(_) => Err(link.failed(Kind::Closed, "ended the stream before the response")),
    }
}
