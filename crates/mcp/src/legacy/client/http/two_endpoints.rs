use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use callgate_wire::legacy::method::INITIALIZE;
use callgate_wire::{Frame, Id, Notification, RawJson, RpcError, Version, encode};
use http::Uri;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::background::Background;
use super::events::Events;
use super::exchange::Wanted;
use super::frames::frames;
use super::link::Link;
use super::resolve::{resolve, same_origin};
use super::waiting::{Refused, Waiting};
use crate::error::{Error, Kind, Retry};
use crate::legacy::client::{Heard, Outgoing, Transport, patience};
use crate::service::BoxFuture;
use crate::transport::http::client::{Content, Site, carries_message};

/// A session with an old server over HTTP+SSE: one stream brings everything, and every message of
/// ours is a POST to the URL that the stream names first.
///
/// Dropping it closes the stream, which ends the session.
pub(in crate::legacy::client) struct TwoEndpoints {
    link: Arc<Link>,
    waiting: Arc<Waiting>,
    reader: JoinHandle<()>,
}

/// How long the server may take to name the URL to post to.
const FIRST_EVENT: Duration = Duration::from_secs(10);

impl TwoEndpoints {
    /// Opens the stream of the server. `heard` gets all of its messages that are no responses.
    ///
    /// # Errors
    /// There is no such stream, or it does not begin as it should.
    pub(in crate::legacy::client) async fn open(
        site: Arc<Site>,
        heard: Heard,
        background: Background,
    ) -> Result<Self, Error> {
        let opening = Link::new(site.clone(), None, background.clone());
        let held_up = || site.held_up_until();
        let first = patience::wait(FIRST_EVENT, held_up, connect(&opening)).await;
        let (events, target) = first.unwrap_or_else(|_| {
            let did = format!("did not say within {FIRST_EVENT:?} where to post messages to");
            Err(opening.failed(Kind::Timeout, &did))
        })?;
        let link = Arc::new(Link::new(site, Some(target), background));
        let waiting = Arc::new(Waiting::default());
        let reader = tokio::spawn(read(link.clone(), waiting.clone(), heard, events));
        Ok(Self {
            link,
            waiting,
            reader,
        })
    }

    /// Ends the session.
    pub(in crate::legacy::client) fn close(&self) {
        self.link.end();
        self.reader.abort();
        self.waiting.end();
    }
}

impl Transport for TwoEndpoints {
    fn request(
        &self,
        request: Outgoing,
        _heard: Heard,
    ) -> BoxFuture<'static, Result<RawJson, Error>> {
        let (link, waiting) = (self.link.clone(), self.waiting.clone());
        Box::pin(exchange(link, waiting, request))
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

    /// The one stream brings everything anyway.
    fn listen(&self) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }

    fn negotiated(&self, version: Version) {
        self.link.negotiated(version);
    }

    fn is_over(&self) -> bool {
        self.link.is_over()
    }

    fn held_up_until(&self) -> Option<Instant> {
        self.link.site().held_up_until()
    }
}

impl Drop for TwoEndpoints {
    fn drop(&mut self) {
        self.close();
    }
}

/// Opens the stream, and waits for the URL that messages are posted to.
async fn connect(link: &Link) -> Result<(Events, Uri), Error> {
    let (head, body) = link.site().send(link.get(None)).await?;
    let limits = link.site().config().limits;
    let is_stream = matches!(Content::of(&head.headers), Content::Events);
    if head.status != 200 || !is_stream {
        return Err(link.failure(&head, &body.beginning(limits.error).await));
    }
    let mut events = Events::new(body, limits.event);
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

/// What stands in the request line of a POST to the URL `named` by the server.
///
/// Only a URL of the same origin will do: our credentials are for nobody else.
fn post_target(link: &Link, named: &[u8]) -> Result<Uri, Error> {
    let base = link.site().uri();
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

/// Takes in messages up to the end of the stream, which is the end of the session.
async fn read(link: Arc<Link>, waiting: Arc<Waiting>, heard: Heard, mut events: Events) {
    let limit = link.site().config().limits.event;
    let server = link.site().config().name.clone();
    loop {
        let event = match events.next().await {
            Ok(Some(event)) => event,
            Ok(None) => break,
            Err(error) => {
                tracing::warn!(%server, %error, "left a stream");
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
                        frame => link.hear(&heard, frame),
                    }
                }
            }
            Err(error) => tracing::warn!(%server, %error, "passed over a malformed message"),
        }
    }
    link.end();
    waiting.end();
}

/// Posts a request and waits until the stream brings its response.
async fn exchange(
    link: Arc<Link>,
    waiting: Arc<Waiting>,
    request: Outgoing,
) -> Result<RawJson, Error> {
    let number = link.next_number();
    let mut ticket = waiting.enter(number).map_err(|refused| match refused {
        Refused::Ended => link.gone(),
        Refused::Full => {
            let text = "too many requests wait for the responses of one server";
            Error::new(Kind::Busy, text).retry_safe()
        }
    })?;
    let mut message = BytesMut::new();
    let id = Id::number(number);
    encode::request(&mut message, &id, &request.method, &request.params);
    let mut wanted = Wanted::new(&link, number);
    if request.method.as_str() == INITIALIZE {
        wanted.settle();
    }
    let posting = async {
        let (head, body) = link.site().send(link.post(message.freeze())).await?;
        match head.status.is_success() {
            // Its body says nothing; what is left of it is dropped.
            true => Ok(()),
            false => Err(link.refusal(&head, body, Some(&id)).await),
        }
    };
    let outcome = tokio::select! {
        biased;
        outcome = &mut ticket.outcome => outcome,
        posted = posting => match posted {
            Ok(()) => (&mut ticket.outcome).await,
            Err(error) => {
                if error.retry() == Retry::Safe || error.kind() != Kind::Closed {
                    wanted.settle();
                }
                return Err(error);
            }
        },
    };
    wanted.settle();
    match outcome {
        Ok(Ok(result)) if result.is_object() => Ok(result),
        Ok(Ok(_)) => Err(link.failed(Kind::Protocol, "answered with a result that is no object")),
        Ok(Err(error)) => Err(Error::rpc(&link.site().config().name, error)),
        Err(_) => Err(link.failed(Kind::Closed, "ended the stream before the response")),
    }
}
