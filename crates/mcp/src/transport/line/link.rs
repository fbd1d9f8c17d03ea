use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use callgate_wire::{Id, Method, RawJson, Splice, encode, meta, method};
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
pub(in crate::transport) struct Link {
    pub(super) name: Arc<str>,
    pub(super) config: Config,
    pub(super) outbox: Outbox,
    pub(super) pending: Pending,
    pub(super) malformed: AtomicU64,
}

impl Link {
    pub(in crate::transport) fn new(name: Arc<str>, config: Config) -> Self {
        Self {
            name,
            config,
            outbox: Outbox::new(config.unsent_bytes),
            pending: Pending::new(config.in_flight),
            malformed: AtomicU64::new(0),
        }
    }

    /// Makes one call. Dropping the future cancels it.
    pub(in crate::transport) async fn call(&self, call: Call) -> Result<Reply, Error> {
        let ticket = Ticket {
            link: self,
            number: self.pending.admit(Caller::new(&call), &self.name)?,
        };
        let params = outgoing(&call, ticket.number)?;
        self.outbox.room().await;
        self.pending
            .send(ticket.number, &self.outbox, (&call.method, &params))
            .map_err(|_closed| {
                let text = format!("the connection to `{}` is closing", self.name);
                Error::new(Kind::Closed, text)
                    .from_upstream(&self.name)
                    .retry_safe()
            })?;
        let answer = poll_fn(|cx| self.pending.poll_answer(ticket.number, cx)).await;
        self.reply(&call, answer)
    }

    /// Carries lines both ways until the connection is over.
    pub(in crate::transport) async fn drive<R, W>(&self, reader: R, writer: W) -> End
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
    pub(in crate::transport) fn end(&self, end: &End) {
        self.pending.end(end, &self.outbox, &self.name);
        self.outbox.close();
    }

    /// Sends no more, and ends the stream after what is waiting.
    pub(in crate::transport) fn finish(&self) {
        self.outbox.finish();
    }

    pub(in crate::transport) fn name(&self) -> &str {
        &self.name
    }

    pub(in crate::transport) fn malformed_lines(&self) -> u64 {
        self.malformed.load(Ordering::Relaxed)
    }

    /// The end of the connection because the server did something.
    pub(in crate::transport) fn closed(&self, did: &str) -> End {
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
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        if self.link.pending.forget(self.number) {
            self.link.cancel(self.number);
        }
    }
}

/// Fails what is left when the driver is stopped.
#[derive(Debug)]
pub(in crate::transport) struct EndOnDrop(pub(in crate::transport) Arc<Link>);

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
