use std::sync::Arc;
use std::time::Duration;

use callgate_wire::legacy::method::PING;
use callgate_wire::{Method, RawJson};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::events::EventReader;
use super::session_link::SessionLink;
use super::stream_position::StreamPosition;
use super::streamable_request::StreamableRequest;
use crate::error::{Error, Kind, Retry};
use crate::legacy::client::transport::StreamEnd;
use crate::legacy::client::{MessageSender, OldRequest};
use crate::transport::http::client::{Content, retry_after};

/// GET stream of messages that belong to no request. Dropping it closes the stream.
#[derive(Debug)]
pub(crate) struct GetStream {
    task: JoinHandle<()>,
    /// Its sender belongs to the task.
    running: watch::Receiver<()>,
}

/// Outcome of an attempt to open the stream.
enum Attempt {
    Opened(Box<EventReader>),
    /// Another attempt may succeed, after this time if the server names one.
    Failed(Option<Duration>),
    /// The server accepts no connection.
    Unreachable(Error),
    Refused(Error),
}

/// Number of attempts in a row without a connection after which the server counts as lost. A server that is
/// started anew is often back at the second one.
const MAX_UNREACHABLE: u32 = 2;

impl GetStream {
    /// Opens the stream, and queues its messages until the session ends or the server refuses to open it
    /// again.
    ///
    /// The receiver gets the outcome of the opening: not every server has such a stream.
    pub(crate) fn open(
        link: Arc<SessionLink>,
        messages: MessageSender,
    ) -> (Self, oneshot::Receiver<Result<StreamEnd, Error>>) {
        let (opened, outcome) = oneshot::channel();
        let (is_running, running) = watch::channel(());
        let end = StreamEnd::dropped(running.clone());
        let task = tokio::spawn(async move {
            let _is_running = is_running;
            match open(&link).await {
                Ok(events) => {
                    opened.send(Ok(end)).ok();
                    listen(link, messages, events).await;
                }
                Err(error) => {
                    opened.send(Err(error)).ok();
                }
            }
        });
        (Self { task, running }, outcome)
    }

    /// True if the stream has ended, or could not be opened.
    pub(crate) fn is_finished(&self) -> bool {
        self.running.has_changed().is_err()
    }
}

impl Drop for GetStream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn open(link: &SessionLink) -> Result<EventReader, Error> {
    match connect(link, &StreamPosition::default()).await {
        Attempt::Opened(events) => Ok(*events),
        Attempt::Refused(error) => Err(error),
        Attempt::Failed(_) | Attempt::Unreachable(_) => {
            let did = "failed to open the stream of messages that belong to no request";
            Err(link.failed(Kind::Connect, did))
        }
    }
}

async fn listen(link: Arc<SessionLink>, messages: MessageSender, mut events: EventReader) {
    loop {
        let take = |frame| link.dispatch(&messages, frame);
        let read = link.read_messages(&mut events, take).await;
        let mut position = events.into_position();
        if let Err(error) = read {
            tracing::warn!(%error, "closed the stream of an old server, and opens another one");
            // After the last event that was read, the server would send the large one again.
            position.forget_id();
        }
        events = match reconnect(&link, position).await {
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
    let mut asked = Duration::ZERO;
    loop {
        tokio::time::sleep(position.next_wait().max(asked)).await;
        if link.is_closed() {
            return Err(link.gone());
        }
        asked = Duration::ZERO;
        unreachable = match connect(link, &position).await {
            Attempt::Opened(events) => return Ok(*events),
            Attempt::Refused(error) => return Err(error),
            Attempt::Failed(after) => {
                asked = after.unwrap_or_default();
                0
            }
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
        Err(_) => return Attempt::Failed(None),
    };
    match (head.status.as_u16(), Content::of(&head.headers)) {
        (200, Content::Events) => {
            let limit = link.upstream().config().limits.event;
            let events = EventReader::resumed(body, limit, position.clone());
            Attempt::Opened(Box::new(events))
        }
        // The refusals pass: a proxy limits the rate or gave up, or the server still counts a stream that broke,
        // as the TypeScript SDK does with 409.
        (500.. | 408 | 409 | 425 | 429, _) => Attempt::Failed(retry_after(&head.headers)),
        // A server without such a stream should answer 405, and many answer 404: that says nothing
        // about the session.
        _ => {
            let beginning = body.beginning(link.upstream().config().limits.error).await;
            Attempt::Refused(link.failure(&head, &beginning))
        }
    }
}
