use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::events::Events;
use super::frames::frames;
use super::link::Link;
use super::position::Position;
use crate::error::{Error, Kind};
use crate::legacy::client::Heard;
use crate::transport::http::client::{Content, carries_message};

/// The stream of messages that belong to no request; it ends with this.
#[derive(Debug)]
pub(super) struct Listener(JoinHandle<()>);

impl Listener {
    /// Opens the stream and passes on what comes, for as long as the session lasts.
    ///
    /// Also says whether the server offers such a stream, once that is known.
    pub(super) fn open(
        link: Arc<Link>,
        heard: Heard,
    ) -> (Self, oneshot::Receiver<Result<(), Error>>) {
        let (opened, outcome) = oneshot::channel();
        let task = async move {
            match open(&link).await {
                Ok(events) => {
                    opened.send(Ok(())).ok();
                    listen(link, heard, events).await;
                }
                Err(error) => {
                    opened.send(Err(error)).ok();
                }
            }
        };
        (Self(tokio::spawn(task)), outcome)
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.is_finished()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn open(link: &Link) -> Result<Events, Error> {
    connect(link, &Position::default()).await?.ok_or_else(|| {
        let did = "failed to open the stream of messages that belong to no request";
        link.failed(Kind::Connect, did)
    })
}

async fn listen(link: Arc<Link>, heard: Heard, mut events: Events) {
    loop {
        let position = match pass_on(&link, &heard, &mut events).await {
            Ok(()) => events.into_position(),
            Err(error) => {
                tracing::warn!(%error, "stopped listening to an old server");
                return;
            }
        };
        events = match reconnect(&link, position).await {
            Ok(events) => events,
            Err(error) => {
                tracing::debug!(%error, "an old server lets nobody listen any more");
                return;
            }
        };
    }
}

/// Passes on messages up to the end of the stream.
async fn pass_on(link: &Arc<Link>, heard: &Heard, events: &mut Events) -> Result<(), Error> {
    let limit = link.site().config().limits.event;
    loop {
        let next = events.next().await.map_err(|error| {
            let did = format!("sent an event larger than {} bytes", error.limit);
            link.failed(Kind::TooLarge, &did)
        })?;
        let Some(event) = next else { return Ok(()) };
        if !carries_message(&event) {
            continue;
        }
        match frames(&event.data, limit) {
            Ok(frames) => frames.into_iter().for_each(|frame| link.hear(heard, frame)),
            Err(error) => {
                let server = &link.site().config().name;
                tracing::warn!(%server, %error, "passed over a malformed message");
            }
        }
    }
}

async fn reconnect(link: &Link, mut position: Position) -> Result<Events, Error> {
    loop {
        tokio::time::sleep(position.next_wait()).await;
        if link.is_over() {
            return Err(link.gone());
        }
        if let Some(events) = connect(link, &position).await? {
            return Ok(events);
        }
    }
}

/// Opens the stream; `None` where another attempt may succeed.
async fn connect(link: &Link, position: &Position) -> Result<Option<Events>, Error> {
    let (head, body) = match link.site().send(link.get(position.last_id())).await {
        Ok(response) => response,
        Err(error) if error.kind() == Kind::Unauthorized => return Err(error),
        Err(_) => return Ok(None),
    };
    match (head.status.as_u16(), Content::of(&head.headers)) {
        (200, Content::Events) => {
            let limit = link.site().config().limits.event;
            Ok(Some(Events::resumed(body, limit, position.clone())))
        }
        (500.., _) => Ok(None),
        // A server without such a stream should answer 405, and many answer 404: that says nothing
        // about the session.
        _ => {
            let beginning = body.beginning(link.site().config().limits.error).await;
            Err(link.failure(&head, &beginning))
        }
    }
}
