use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use callgate_wire::legacy::method::INITIALIZE;
use callgate_wire::{Frame, Id, RawJson, Response, encode};

use super::events::{EventReader, frames};
use super::session_link::SessionLink;
use super::stream_position::StreamPosition;
use crate::error::{Error, Kind, Retry};
use crate::legacy::client::{MessageSender, OldRequest};
use crate::transport::http::client::{BodyError, BodyStream, Content, carries_message};

/// One request over Streamable HTTP.
pub(crate) struct StreamableRequest {
    link: Arc<SessionLink>,
    id: Id,
    messages: MessageSender,
    cancel_on_drop: CancelOnDrop,
}

impl StreamableRequest {
    /// Sends `request` and waits for its result, resuming the stream if it ends early.
    ///
    /// Dropping the future cancels the request at the server.
    pub(crate) async fn run(
        link: Arc<SessionLink>,
        request: OldRequest,
        messages: MessageSender,
    ) -> Result<RawJson, Error> {
        if link.is_closed() {
            return Err(link.gone());
        }
        let number = link.next_number();
        let id = Id::number(number);
        let mut message = BytesMut::new();
        encode::request(&mut message, &id, &request.method, &request.params);

        let opens = request.method.as_str() == INITIALIZE;
        let cancel_on_drop = CancelOnDrop::new(&link, number);
        let mut running = Self {
            link,
            id,
            messages,
            cancel_on_drop,
        };
        if opens {
            running.cancel_on_drop.disarm();
        }
        running.post(message.freeze(), opens).await
    }

    async fn post(&mut self, message: Bytes, opens: bool) -> Result<RawJson, Error> {
        let sent = self.link.upstream().send(self.link.post(message)).await;
        let (head, body) = sent.inspect_err(|error| {
            // Not written, or refused for its credentials: there is nothing to cancel.
            if error.retry() == Retry::Safe || error.kind() == Kind::Unauthorized {
                self.cancel_on_drop.disarm();
            }
        })?;
        if !head.status.is_success() {
            self.cancel_on_drop.disarm();
            return Err(self.link.refusal(&head, body, Some(&self.id)).await);
        }
        if opens {
            self.link.learn_session(&head)?;
        }
        match Content::of(&head.headers) {
            Content::Json => self.message(body).await,
            Content::Events => self.events(body).await,
            Content::Other => {
                self.cancel_on_drop.disarm();
                let limit = self.link.upstream().config().limits.error;
                Err(self.link.failure(&head, &body.beginning(limit).await))
            }
        }
    }

    /// Reads a response that is one message, or a batch with one.
    async fn message(&mut self, body: BodyStream) -> Result<RawJson, Error> {
        let limit = self.link.upstream().config().limits.json;
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

    /// Reads a stream of events up to the response, and resumes it if it ends before.
    async fn events(&mut self, body: BodyStream) -> Result<RawJson, Error> {
        let limit = self.link.upstream().config().limits.event;
        let mut events = EventReader::new(body, limit);
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

    /// Handles the messages of a body or event, and returns the outcome of the request if it is there.
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
                    self.cancel_on_drop.disarm();
                    outcome = Some(self.outcome(response));
                }
                Frame::Response(_) => {
                    let server = &self.link.upstream().config().name;
                    tracing::debug!(%server, "ignored a response to another request");
                }
                frame => self.link.hear(&self.messages, frame),
            }
        }
        Ok(outcome)
    }

    /// True for the response to this request. A server that could not read the request cannot know
    /// its id, so an error without id counts.
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
            Err(error) => Err(Error::rpc(&self.link.upstream().config().name, error)),
        }
    }

    fn too_large(&self, what: &str, limit: usize) -> Error {
        let did = format!("sent {what} larger than {limit} bytes");
        self.link.failed(Kind::TooLarge, &did)
    }
}

/// Resumes a stream that ended before the response.
async fn resume(link: &SessionLink, mut position: StreamPosition) -> Result<EventReader, Error> {
    let lost = || link.failed(Kind::Closed, "ended the stream before the response");
    loop {
        if position.last_id().is_none() || position.is_exhausted() {
            return Err(lost());
        }
        tokio::time::sleep(position.next_wait()).await;
        let (head, body) = match link.upstream().send(link.get(position.last_id())).await {
            Ok(response) => response,
            Err(error) if error.kind() == Kind::Unauthorized => {
                // The server has taken the request: it must not be sent again, although the failed
                // resumption itself could be.
                let name = &link.upstream().config().name;
                let refused = Error::new(Kind::Unauthorized, error.to_string());
                return Err(refused.from_upstream(name).with_source(error));
            }
            Err(error) => {
                tracing::debug!(%error, "cannot resume a stream");
                continue;
            }
        };
        match (head.status.as_u16(), Content::of(&head.headers)) {
            (200, Content::Events) => {
                let limit = link.upstream().config().limits.event;
                return Ok(EventReader::resumed(body, limit, position));
            }
            (401 | 403, _) => return Err(link.refusal(&head, body, None).await),
            (500.., _) => {}
            // The server has taken the request, even if the session has ended since.
            _ => {
                let cause = link.refusal(&head, body, None).await;
                return Err(lost().with_source(cause));
            }
        }
    }
}

/// Cancels a request at the server when it is dropped, unless it was disarmed.
pub(crate) struct CancelOnDrop {
    link: Option<Arc<SessionLink>>,
    number: u64,
}

impl CancelOnDrop {
    pub(crate) fn new(link: &Arc<SessionLink>, number: u64) -> Self {
        Self {
            link: Some(link.clone()),
            number,
        }
    }

    /// Disarms it: the server has answered the request, or never got it.
    pub(crate) fn disarm(&mut self) {
        self.link = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(link) = self.link.take() {
            link.cancel(self.number);
        }
    }
}
