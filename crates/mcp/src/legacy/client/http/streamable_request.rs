use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use callgate_wire::legacy::method::INITIALIZE;
use callgate_wire::{Frame, Id, RawJson, Response, encode};

use super::events::{EventReader, frames};
use super::session_link::SessionLink;
use super::stream_position::StreamPosition;
use crate::error::{Error, Kind, Retry};
use crate::legacy::client::{MessageSender, OldRequest};
use crate::transport::http::client::{
    BodyError, BodyStream, Content, carries_message, with_retry_after,
};

/// One request over Streamable HTTP.
pub(crate) struct StreamableRequest {
    sent: SentRequest,
    messages: MessageSender,
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
        let opens = request.method.as_str() == INITIALIZE;
        let (sent, message) = SentRequest::new(link, &request);
        // Its params may be a slice of a large message, and a call may wait long for its answer.
        drop(request);
        Self { sent, messages }.post(message, opens).await
    }

    async fn post(&mut self, message: Bytes, opens: bool) -> Result<RawJson, Error> {
        let sent = self
            .sent
            .link
            .upstream()
            .send(self.sent.link.post(message))
            .await;
        let (head, body) = sent.inspect_err(|error| {
            // Not written, or refused for its credentials: there is nothing to cancel.
            if error.retry() == Retry::Safe || error.kind() == Kind::Unauthorized {
                self.sent.disarm();
            }
        })?;
        if !head.status.is_success() {
            self.sent.disarm();
            return Err(self
                .sent
                .link
                .refusal(&head, body, Some(&self.sent.id()))
                .await);
        }
        // Before the body is read: a ping of the server in it is answered with the id of the session.
        if opens {
            self.sent.link.learn_session(&head)?;
        }
        let outcome = match Content::of(&head.headers) {
            Content::Json => self.message(body).await,
            Content::Events => self.events(body).await,
            Content::Other => {
                self.sent.disarm();
                let limit = self.sent.link.upstream().config().limits.error;
                Err(self.sent.link.failure(&head, &body.beginning(limit).await))
            }
        };
        match opens {
            // A handshake may fail for a time with any status.
            true => outcome.map_err(|error| with_retry_after(error, &head.headers)),
            false => outcome,
        }
    }

    /// Reads a response that is one message, or a batch with one.
    async fn message(&mut self, body: BodyStream) -> Result<RawJson, Error> {
        let limit = self.sent.link.upstream().config().limits.json;
        // After a failure the request is canceled at the server, since its answer cannot be read.
        let body = body.whole(limit).await.map_err(|error| match error {
            BodyError::TooLarge { limit } => self.sent.link.too_large("a response", limit),
            BodyError::Broken(error) => self
                .sent
                .link
                .failed(Kind::Closed, "broke off within the response")
                .with_source(error),
        })?;
        let outcome = self.receive(&body, limit)?;
        outcome.unwrap_or_else(|| {
            Err(self.sent.link.failed(
                Kind::Protocol,
                "answered with a message that is no response",
            ))
        })
    }

    /// Reads a stream of events up to the response, and resumes it if it ends before.
    async fn events(&mut self, body: BodyStream) -> Result<RawJson, Error> {
        let limit = self.sent.link.upstream().config().limits.event;
        let mut events = EventReader::new(body, limit);
        loop {
            let next = events.next().await;
            match next.map_err(|error| self.sent.link.too_large("an event", error.limit))? {
                Some(event) if carries_message(&event) => {
                    if let Some(outcome) = self.receive(&event.data, limit)? {
                        events.finish().await;
                        return outcome;
                    }
                }
                // Servers of 2025-11-25 begin with an event that has only an id, from which the stream can be
                // resumed.
                Some(_) => {}
                None => events = resume(&self.sent.link, events.into_position()).await?,
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
            self.sent
                .link
                .failed(Kind::Protocol, &did)
                .with_source(error)
        })?;
        let mut outcome = None;
        for frame in frames {
            match frame {
                Frame::Response(response) if self.is_mine(&response) => {
                    self.sent.disarm();
                    outcome = Some(self.sent.link.outcome(response.outcome));
                }
                Frame::Response(_) => {
                    let server = &self.sent.link.upstream().config().name;
                    tracing::debug!(%server, "ignored a response to another request");
                }
                frame => self.sent.link.dispatch(&self.messages, frame),
            }
        }
        Ok(outcome)
    }

    /// True for the response to this request. A server that could not read the request cannot know
    /// its id, so an error without id counts.
    fn is_mine(&self, response: &Response) -> bool {
        match &response.id {
            Some(id) => id.echoed_number() == Some(self.sent.number),
            None => response.outcome.is_err(),
        }
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
            // The server, or a proxy in front of it, may be back at the next attempt.
            (500.., _) => {}
            // The server has taken the request, even if the session has ended since.
            _ => {
                let cause = link.refusal(&head, body, None).await;
                return Err(lost().with_source(cause));
            }
        }
    }
}

/// Request with a number of its own. Dropping it cancels the request at the server, unless it was
/// disarmed.
pub(super) struct SentRequest {
    pub(super) link: Arc<SessionLink>,
    pub(super) number: u64,
    cancels: bool,
}

impl SentRequest {
    /// The request, and its message. A handshake is never cancelled.
    pub(super) fn new(link: Arc<SessionLink>, request: &OldRequest) -> (Self, Bytes) {
        let sent = Self {
            number: link.next_number(),
            cancels: request.method.as_str() != INITIALIZE,
            link,
        };
        let mut message = BytesMut::new();
        encode::request(&mut message, &sent.id(), &request.method, &request.params);
        (sent, message.freeze())
    }

    pub(super) fn id(&self) -> Id {
        Id::number(self.number)
    }

    /// Disarms it: the server has answered the request, or never got it.
    pub(super) fn disarm(&mut self) {
        self.cancels = false;
    }
}

impl Drop for SentRequest {
    fn drop(&mut self) {
        if self.cancels {
            self.link.clone().cancel(self.number);
        }
    }
}
