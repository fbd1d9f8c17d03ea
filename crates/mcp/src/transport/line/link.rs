use std::fmt;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use callgate_wire::{Frame, Id, Method, Notification, RawJson, RpcError, Splice};
use callgate_wire::{encode, meta, method};
use tokio::io::{AsyncRead, AsyncWrite};

use super::config::Config;
use super::lines::Lines;
use super::outbox::{Outbox, Sender};
use super::pending::{Answer, Caller, End, Pending};
use super::route::Reader;
use crate::error::{Error, Kind};
use crate::service::{Call, Reply};

/// What the calls of a connection share with its driver.
#[derive(Debug)]
pub(crate) struct Link {
    pub(super) name: Arc<str>,
    pub(super) config: Config,
    pub(super) outbox: Outbox,
    pub(super) pending: Pending,
    pub(super) malformed: AtomicU64,
    attendant: Mutex<Option<Attendant>>,
}

/// Somebody who takes every message of the server that is not an answer.
#[derive(Clone)]
pub(crate) struct Attendant(Arc<Attend>);

type Attend = dyn Fn(&Link, Frame) + Send + Sync;

/// What becomes of a request that is not waited for any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unwanted {
    /// The server is told.
    Cancel,
    /// A late answer is ignored.
    Ignore,
}

impl Link {
    pub(crate) fn new(name: Arc<str>, config: Config) -> Self {
        Self {
            name,
            config,
            outbox: Outbox::new(config.unsent_bytes),
            pending: Pending::new(config.in_flight),
            malformed: AtomicU64::new(0),
            attendant: Mutex::default(),
        }
    }

    /// Makes one call. Dropping the future cancels it.
    pub(crate) async fn call(&self, call: Call) -> Result<Reply, Error> {
        let ticket = self.admit(Caller::new(&call), Unwanted::Cancel)?;
        let params = outgoing(&call, ticket.number)?;
        let answer = self.ask(&ticket, &call.method, &params).await?;
        self.reply(&call, answer)
    }

    /// Sends a request as it is, and waits for its result.
    pub(crate) async fn request(
        &self,
        method: &Method,
        params: &RawJson,
        unwanted: Unwanted,
    ) -> Result<RawJson, Error> {
        let ticket = self.admit(Caller::nobody(), unwanted)?;
        match self.ask(&ticket, method, params).await? {
            Answer::Result(result) => Ok(result),
            Answer::Error(error) => Err(Error::rpc(&self.name, error)),
            Answer::Failed(error) => Err(error),
            Answer::Unsubscribed => Ok(RawJson::empty_object()),
        }
    }

    /// Sends a notification, once there is room for it.
    pub(crate) async fn notify(&self, notification: &Notification) -> Result<(), Error> {
        let Notification { method, params } = notification;
        self.outbox.room().await;
        let pushed = self
            .outbox
            .push(|out| encode::notification(out, method, params));
        pushed.map(drop).map_err(|_closed| self.is_closing())
    }

    /// Answers a request of the server. Never waits.
    pub(crate) fn respond(
        &self,
        id: &Id,
        outcome: &Result<RawJson, RpcError>,
    ) -> Result<(), Error> {
        let pushed = self.outbox.push(|out| match outcome {
            Ok(result) => encode::result(out, id, result),
            Err(error) => encode::error(out, Some(id), error),
        });
        pushed.map(drop).map_err(|_closed| self.is_closing())
    }

    /// Gives every message that is not an answer to `attend`, until the connection is over.
    pub(crate) fn divert(&self, attend: impl Fn(&Link, Frame) + Send + Sync + 'static) {
        // On a connection that is over nobody would ever be called, or let go.
        if !self.is_over() {
            *self.attendant() = Some(Attendant(Arc::new(attend)));
        }
    }

    /// Whether the connection is over.
    pub(crate) fn is_over(&self) -> bool {
        self.pending.has_ended()
    }

    /// Who takes the messages that are not answers, if they are diverted.
    pub(super) fn diverted(&self) -> Option<Attendant> {
        self.attendant().clone()
    }

    fn attendant(&self) -> std::sync::MutexGuard<'_, Option<Attendant>> {
        self.attendant
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn admit(&self, caller: Caller, unwanted: Unwanted) -> Result<Ticket<'_>, Error> {
        Ok(Ticket {
            link: self,
            number: self.pending.admit(caller, &self.name)?,
            unwanted,
        })
    }

    async fn ask(
        &self,
        ticket: &Ticket<'_>,
        method: &Method,
        params: &RawJson,
    ) -> Result<Answer, Error> {
        self.outbox.room().await;
        self.pending
            .send(ticket.number, &self.outbox, (method, params))
            .map_err(|_closed| self.is_closing().retry_safe())?;
        Ok(poll_fn(|cx| self.pending.poll_answer(ticket.number, cx)).await)
    }

    fn is_closing(&self) -> Error {
        let text = format!("the connection to `{}` is closing", self.name);
        Error::new(Kind::Closed, text).from_upstream(&self.name)
    }

    /// Carries lines both ways until the connection is over.
    pub(crate) async fn drive<R, W>(&self, reader: R, writer: W) -> End
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let mut lines = Lines::new(reader, self.config.limits.bytes);
        let mut reader = Reader::new(self);
        let mut sender = Sender::new(writer);
        let mut broken = false;
        poll_fn(|cx| {
            loop {
                self.outbox.sender_is_awake();
                while let Poll::Ready(line) = lines.poll_next(cx) {
                    if let Err(end) = reader.receive(line) {
                        return Poll::Ready(end);
                    }
                }
                // What the server said before it stopped listening has been read by now.
                if broken {
                    return Poll::Ready(self.closed("stopped reading"));
                }
                match sender.poll_flush(&self.outbox, cx) {
                    Poll::Ready(Err(_)) => broken = true,
                    _ => return Poll::Pending,
                }
            }
        })
        .await
    }

    /// Fails all calls, now and from now on.
    pub(crate) fn end(&self, end: &End) {
        self.pending.end(end, &self.outbox, &self.name);
        self.outbox.close();
        *self.attendant() = None;
    }

    /// Sends no more, and ends the stream after what is waiting.
    pub(crate) fn finish(&self) {
        self.outbox.finish();
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn malformed_lines(&self) -> u64 {
        self.malformed.load(Ordering::Relaxed)
    }

    /// The end of the connection because the server did something.
    pub(crate) fn closed(&self, did: &str) -> End {
        End::new(Kind::Closed, format!("server `{}` {did}", self.name))
    }

    fn reply(&self, call: &Call, answer: Answer) -> Result<Reply, Error> {
        let result = match answer {
            Answer::Result(result) if result.is_object() => result,
            Answer::Result(_) => {
                let text = format!(
                    "server `{}` answered with a result that is no object",
                    self.name
                );
                return Err(Error::new(Kind::Protocol, text).from_upstream(&self.name));
            }
            Answer::Error(error) => return Err(Error::rpc(&self.name, error)),
            Answer::Unsubscribed => return Ok(Reply::subscription_end(&call.cx.id)),
            Answer::Failed(error) => return Err(error),
        };
        let kind = result.get("resultType");
        if kind.is_some_and(|kind| kind.text().as_deref() == Some("input_required")) {
            return Ok(Reply::InputRequired(result));
        }
        if call.method.as_str() == method::SUBSCRIPTIONS_LISTEN {
            return Ok(Reply::Complete(rename(
                &result,
                &["_meta", meta::SUBSCRIPTION_ID],
                &call.cx.id,
            )));
        }
        Ok(Reply::Complete(result))
    }

    fn cancel(&self, number: u64) {
        let params = RawJson::encode(&serde_json::json!({ "requestId": number }))
            .expect("a number is always JSON");
        let method = Method::new(method::NOTIFICATIONS_CANCELLED);
        // On a connection that is over there is nobody to tell.
        let _ = self
            .outbox
            .push(|out| encode::notification(out, &method, &params));
    }
}

/// The place of one call on the connection.
struct Ticket<'a> {
    link: &'a Link,
    number: u64,
    unwanted: Unwanted,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let is_waiting = self.link.pending.forget(self.number);
        if is_waiting && self.unwanted == Unwanted::Cancel {
            self.link.cancel(self.number);
        }
    }
}

impl Attendant {
    pub(super) fn take(&self, link: &Link, frame: Frame) {
        (self.0)(link, frame);
    }
}

impl fmt::Debug for Attendant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Attendant(..)")
    }
}

/// Fails what is left when the driver is stopped.
#[derive(Debug)]
pub(crate) struct EndOnDrop(pub(crate) Arc<Link>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        let text = format!("the connection to `{}` was closed", self.0.name);
        self.0.end(&End::new(Kind::Closed, text));
    }
}

/// Replaces the id at `path` by `id`, where there is one.
pub(super) fn rename(value: &RawJson, path: &[&str], id: &Id) -> RawJson {
    if value.at(path).is_none() {
        return value.clone();
    }
    Splice::new(value)
        .set(path, id.as_raw())
        .finish()
        .unwrap_or_else(|_| value.clone())
}

/// The params as this connection sends them: with a progress token of its own.
fn outgoing(call: &Call, number: u64) -> Result<RawJson, Error> {
    if call.method.as_str() == method::SUBSCRIPTIONS_LISTEN {
        // Progress must not be reported on a subscription.
        return Ok(call.params.clone());
    }
    Splice::new(&call.params)
        .set(
            &["_meta", meta::PROGRESS_TOKEN],
            Id::number(number).as_raw(),
        )
        .finish()
        .map_err(|error| Error::invalid_params(error.to_string()))
}
