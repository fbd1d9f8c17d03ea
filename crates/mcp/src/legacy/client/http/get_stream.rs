use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::events::EventReader;
use super::session_link::SessionLink;
use super::stream_position::StreamPosition;
use crate::error::{Error, Kind};
use crate::legacy::client::MessageSender;
use crate::transport::http::client::Content;

/// GET stream of messages that belong to no request. Dropping it closes the stream.
#[derive(Debug)]
pub(crate) struct GetStream(JoinHandle<()>);

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
    connect(link, &StreamPosition::default())
        .await?
        .ok_or_else(|| {
            let did = "failed to open the stream of messages that belong to no request";
            link.failed(Kind::Connect, did)
        })
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
                return;
            }
        };
    }
}

async fn reconnect(link: &SessionLink, mut position: StreamPosition) -> Result<EventReader, Error> {
    loop {
        tokio::time::sleep(position.next_wait()).await;
        if link.is_closed() {
            return Err(link.gone());
        }
        if let Some(events) = connect(link, &position).await? {
            return Ok(events);
        }
    }
}

/// Opens the stream; `None` if another attempt may succeed.
async fn connect(
    link: &SessionLink,
    position: &StreamPosition,
) -> Result<Option<EventReader>, Error> {
    let (head, body) = match link.upstream().send(link.get(position.last_id())).await {
        Ok(response) => response,
        // Another attempt would be refused as well.
        Err(error) if error.kind() == Kind::Unauthorized => return Err(error),
        Err(_) => return Ok(None),
    };
    match (head.status.as_u16(), Content::of(&head.headers)) {
        (200, Content::Events) => {
            let limit = link.upstream().config().limits.event;
            Ok(Some(EventReader::resumed(body, limit, position.clone())))
        }
        (500.., _) => Ok(None),
        // A server without such a stream should answer 405, and many answer 404: that says nothing
        // about the session.
        _ => {
            let beginning = body.beginning(link.upstream().config().limits.error).await;
            Err(link.failure(&head, &beginning))
        }
    }
}
