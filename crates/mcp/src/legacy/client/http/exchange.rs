use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use callgate_wire::legacy::method::INITIALIZE;
use callgate_wire::{Frame, Id, RawJson, Response, encode};

use super::events::Events;
use super::frames::frames;
use super::link::Link;
use super::position::Position;
use crate::error::{Error, Kind, Retry};
use crate::legacy::client::{Heard, Outgoing};
use crate::transport::http::client::{BodyError, Content, Stream, carries_message};

/// One request over Streamable HTTP.
pub(super) struct Exchange {
    link: Arc<Link>,
    id: Id,
    heard: Heard,
    wanted: Wanted,
}

impl Exchange {
    /// Sends `request` and waits for its result, over as many streams as that takes.
    ///
    /// Dropping the future tells the server that the request is no longer wanted.
    pub(super) async fn run(
        link: Arc<Link>,
        request: Outgoing,
        heard: Heard,
    ) -> Result<RawJson, Error> {
        if link.is_over() {
            return Err(link.gone());
        }
        let number = link.next_number();
        let id = Id::number(number);
        let mut message = BytesMut::new();
        encode::request(&mut message, &id, &request.method, &request.params);

        let opens = request.method.as_str() == INITIALIZE;
        let wanted = Wanted::new(&link, number);
        let mut exchange = Self {
            link,
            id,
            heard,
            wanted,
        };
        if opens {
            exchange.wanted.settle();
        }
        exchange.post(message.freeze(), opens).await
    }

    async fn post(&mut self, message: Bytes, opens: bool) -> Result<RawJson, Error> {
        let sent = self.link.site().send(self.link.post(message)).await;
        let (head, body) = sent.inspect_err(|error| {
            // Without credentials nothing was sent, or nothing taken.
            if error.retry() == Retry::Safe || error.kind() == Kind::Unauthorized {
                self.wanted.settle();
            }
        })?;
        if !head.status.is_success() {
            self.wanted.settle();
            return Err(self.link.refusal(&head, body, Some(&self.id)).await);
        }
        if opens {
            self.link.learn_session(&head)?;
        }
        match Content::of(&head.headers) {
            Content::Json => self.message(body).await,
            Content::Events => self.events(body).await,
            Content::Other => {
                self.wanted.settle();
                let limit = self.link.site().config().limits.error;
                Err(self.link.failure(&head, &body.beginning(limit).await))
            }
        }
    }

    /// Reads a response that is one message, or a batch with one.
    async fn message(&mut self, body: Stream) -> Result<RawJson, Error> {
        let limit = self.link.site().config().limits.json;
        let body = body.whole(limit).await.map_err(|error| match error {
            BodyError::TooLarge { limit } => self.too_large("a response", limit),
            BodyError::Broken(error) => self
                .link
                .failed(Kind::Closed, "broke off within the response")
                .with_source(error),
        })?;
        let outcome = self.receive(&body, limit)?;
        outcome.unwrap_or_else(|| {
            Err(self.link.failed(
                Kind::Protocol,
                "answered with a message that is no response",
            ))
        })
    }

    /// Reads a stream of events up to the response, and resumes it where it ends before.
    async fn events(&mut self, body: Stream) -> Result<RawJson, Error> {
        let limit = self.link.site().config().limits.event;
        let mut events = Events::new(body, limit);
        loop {
            let next = events.next().await;
            match next.map_err(|error| self.too_large("an event", error.limit))? {
                Some(event) if carries_message(&event) => {
                    if let Some(outcome) = self.receive(&event.data, limit)? {
                        events.finish().await;
                        return outcome;
                    }
                }
                Some(_) => {}
                None => events = resume(&self.link, events.into_position()).await?,
            }
        }
    }

    /// Takes in what came; the outcome of the request, if it was among it.
    fn receive(
        &mut self,
        bytes: &Bytes,
        limit: usize,
    ) -> Result<Option<Result<RawJson, Error>>, Error> {
        let frames = frames(bytes, limit).map_err(|error| {
            let did = format!("sent a malformed message: {error}");
            self.link.failed(Kind::Protocol, &did).with_source(error)
        })?;
        let mut outcome = None;
        for frame in frames {
            match frame {
                Frame::Response(response) if self.is_mine(&response) => {
                    self.wanted.settle();
                    outcome = Some(self.outcome(response));
                }
                Frame::Response(_) => {
                    let server = &self.link.site().config().name;
                    tracing::debug!(%server, "passed over the response to another request");
                }
                frame => self.link.hear(&self.heard, frame),
            }
        }
        Ok(outcome)
    }

    /// A server that could not read the request cannot name it either.
    fn is_mine(&self, response: &Response) -> bool {
        match &response.id {
            Some(id) => *id == self.id,
            None => response.outcome.is_err(),
        }
    }

    fn outcome(&self, response: Response) -> Result<RawJson, Error> {
        match response.outcome {
            Ok(result) if result.is_object() => Ok(result),
            Ok(_) => Err(self
                .link
                .failed(Kind::Protocol, "answered with a result that is no object")),
            Err(error) => Err(Error::rpc(&self.link.site().config().name, error)),
        }
    }

    fn too_large(&self, what: &str, limit: usize) -> Error {
        let did = format!("sent {what} larger than {limit} bytes");
        self.link.failed(Kind::TooLarge, &did)
    }
}

/// Comes back for the rest of a stream that ended before the response.
async fn resume(link: &Link, mut position: Position) -> Result<Events, Error> {
    let lost = || link.failed(Kind::Closed, "ended the stream before the response");
    loop {
        if position.last_id().is_none() || position.is_hopeless() {
            return Err(lost());
        }
        tokio::time::sleep(position.next_wait()).await;
        let (head, body) = match link.site().send(link.get(position.last_id())).await {
            Ok(response) => response,
            Err(error) if error.kind() == Kind::Unauthorized => {
                // The request was taken: whatever its cause says, it must not be sent again.
                let name = &link.site().config().name;
                let refused = Error::new(Kind::Unauthorized, error.to_string());
                return Err(refused.from_upstream(name).with_source(error));
            }
            Err(error) => {
                tracing::debug!(%error, "could not come back for the rest of a stream");
                continue;
            }
        };
        match (head.status.as_u16(), Content::of(&head.headers)) {
            (200, Content::Events) => {
                let limit = link.site().config().limits.event;
                return Ok(Events::resumed(body, limit, position));
            }
            (401 | 403, _) => return Err(link.refusal(&head, body, None).await),
            (500.., _) => {}
            // The request was taken, whatever became of the session.
            _ => {
                let cause = link.refusal(&head, body, None).await;
                return Err(lost().with_source(cause));
            }
        }
    }
}

/// Tells the server, when dropped, that nobody wants the response any more.
pub(super) struct Wanted {
    link: Option<Arc<Link>>,
    number: u64,
}

impl Wanted {
    pub(super) fn new(link: &Arc<Link>, number: u64) -> Self {
        Self {
            link: Some(link.clone()),
            number,
        }
    }

    /// There is nothing to cancel: the server has dealt with the request, or never got it.
    pub(super) fn settle(&mut self) {
        self.link = None;
    }
}

impl Drop for Wanted {
    fn drop(&mut self) {
        if let Some(link) = self.link.take() {
            link.cancel(self.number);
        }
    }
}
