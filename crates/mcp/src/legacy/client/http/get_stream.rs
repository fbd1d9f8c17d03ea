use std::sync::Arc;

use callgate_wire::legacy::method::PING;
use callgate_wire::{Method, RawJson};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::events::EventReader;
use super::session_link::SessionLink;
use super::stream_position::StreamPosition;
use super::streamable_request::StreamableRequest;
use crate::error::{Error, Kind, Retry};
use crate::legacy::client::{MessageSender, OldRequest};
use crate::transport::http::client::Content;

/// GET stream of messages that belong to no request. Dropping it closes the stream.
#[derive(Debug)]
pub(crate) struct GetStream(JoinHandle<()>);

/// Outcome of an attempt to open the stream.
enum Attempt {
    Opened(Box<EventReader>),
    /// Another attempt may succeed.
    Failed,
    /// The server accepts no connection.
    Unreachable(Error),
    Refused(Error),
}

/// Number of attempts in a row without a connection after which the server counts as lost. A server that is
/// started anew is often back at the second one.
const MAX_UNREACHABLE: u32 = 2;

impl GetStream {
    /// Opens the stream, and queues its messages until the session ends.
    ///
    /// The receiver gets the outcome of the opening: not every server has such a stream.
    pub(crate) fn open(
        link: Arc<SessionLink>,
        messages: MessageSender,
    ) -> (Self, oneshot::Receiver<Result<(), Error>>) {
        let (opened, outcome) = oneshot::channel();
        let task = async move {
            match open(&link).await {
                Ok(events) => {
                    opened.send(Ok(())).ok();
                    listen(link, messages, events).await;
                }
                Err(error) => {
                    opened.send(Err(error)).ok();
                }
            }
        };
        (Self(tokio::spawn(task)), outcome)
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl Drop for GetStream {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn open(link: &SessionLink) -> Result<EventReader, Error> {
    match connect(link, &StreamPosition::default()).await {
        Attempt::Opened(events) => Ok(*events),
        Attempt::Refused(error) => Err(error),
        Attempt::Failed | Attempt::Unreachable(_) => {
            let did = "failed to open the stream of messages that belong to no request";
            Err(link.failed(Kind::Connect, did))
        }
    }
}

async fn listen(link: Arc<SessionLink>, messages: MessageSender, mut events: EventReader) {
    loop {
        let take = |frame| link.dispatch(&messages, frame);
        if let Err(error) = link.read_messages(&mut events, take).await {
            return tracing::warn!(%error, "closed the stream of an old server");
        }
        events = match reconnect(&link, events.into_position()).await {
            Ok(events) => events,
            Err(error) => {
                tracing::debug!(%error, "the stream of an old server cannot be opened again");
                return check_session(link, messages);
            }
        };
    }
}

/// Opens the stream again. Ends the session if the server accepts no connection.
async fn reconnect(link: &SessionLink, mut position: StreamPosition) -> Result<EventReader, Error> {
    let mut unreachable = 0;
    loop {
        tokio::time::sleep(position.next_wait()).await;
        if link.is_closed() {
            return Err(link.gone());
        }
        unreachable = match connect(link, &position).await {
            Attempt::Opened(events) => return Ok(*events),
            Attempt::Refused(error) => return Err(error),
            Attempt::Failed => 0,
            Attempt::Unreachable(error) if unreachable + 1 == MAX_UNREACHABLE => {
                link.end_by_loss(&error);
                return Err(error);
            }
            Attempt::Unreachable(_) => unreachable + 1,
        };
    }
}

/// Sends a ping in a session whose stream the server refuses to open again, in the background: a server that was
/// started anew does not know the session, and its answer ends it.
fn check_session(link: Arc<SessionLink>, messages: MessageSender) {
    if !link.keeps_state() {
        return;
    }
    let ping = OldRequest {
        method: Method::new(PING),
        params: RawJson::empty_object(),
    };
    let background = link.background().clone();
    background.run(async move {
        if let Err(error) = StreamableRequest::run(link, ping, messages).await {
            tracing::debug!(%error, "a ping in the session of a lost stream failed");
        }
    });
}

async fn connect(link: &SessionLink, position: &StreamPosition) -> Attempt {
    let (head, body) = match link.upstream().send(link.get(position.last_id())).await {
        Ok(response) => response,
        // Another attempt would be refused as well.
        Err(error) if error.kind() == Kind::Unauthorized => return Attempt::Refused(error),
        Err(error) if error.kind() == Kind::Connect && error.retry() == Retry::Safe => {
            return Attempt::Unreachable(error);
        }
        Err(_) => return Attempt::Failed,
    };
    match (head.status.as_u16(), Content::of(&head.headers)) {
        (200, Content::Events) => {
            let limit = link.upstream().config().limits.event;
            let events = EventReader::resumed(body, limit, position.clone());
            Attempt::Opened(Box::new(events))
        }
        (500.., _) => Attempt::Failed,
        // A server without such a stream should answer 405, and many answer 404: that says nothing
        // about the session.
        _ => {
            let beginning = body.beginning(link.upstream().config().limits.error).await;
            Attempt::Refused(link.failure(&head, &beginning))
        }
    }
}
