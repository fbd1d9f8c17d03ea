use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use callgate_wire::{Frame, Id, Method, Notification, RawJson, RpcError, Splice, Version};
use callgate_wire::{encode, meta, method};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::{Sleep, sleep};

use super::config::LineConfig;
use super::lines::Lines;
use super::outbox::{Outbox, Sender};
use super::pending::{CallerContext, PendingCalls};
use super::route::MessageRouter;
use crate::error::{Error, Kind};
use crate::mutex::Mutex;
use crate::service::{Call, Reply};
use crate::transport::{self, CloseReason, ConnectionState, MessageObserver};

/// Client side of a line connection: shared by its calls and by the task that drives its streams.
pub(crate) struct Link {
    pub(crate) name: Arc<str>,
    pub(super) config: LineConfig,
    pub(super) outbox: Outbox,
    pub(super) pending: PendingCalls,
    pub(super) malformed: AtomicU64,
    pub(crate) observer: Option<MessageObserver>,
    sink: Mutex<Option<MessageSink>>,
    closed: watch::Sender<Option<CloseReason>>,
}

/// Receiver of every message of the server that is not an answer.
pub(super) type MessageSink = Arc<dyn Fn(&Link, Frame) + Send + Sync>;

/// Consequence of dropping a request before its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnDrop {
    /// The server gets `notifications/cancelled`.
    Cancel,
    /// A late answer is ignored.
    Ignore,
}

impl Link {
    pub(crate) fn new(
        name: Arc<str>,
        config: LineConfig,
        observer: Option<MessageObserver>,
    ) -> Self {
        Self {
            name,
            config,
            outbox: Outbox::new(config.unsent_bytes),
            pending: PendingCalls::new(config.in_flight),
            malformed: AtomicU64::new(0),
            observer,
            sink: Mutex::default(),
            closed: watch::Sender::new(None),
        }
    }

    /// Makes one call. Dropping the future cancels it.
    pub(crate) async fn call(&self, call: Call) -> Result<Reply, Error> {
        // Admitted first, because the number of the call is also its progress token.
        let pending_call = self.admit(CallerContext::new(&call), OnDrop::Cancel)?;
        let params = outgoing(&call, pending_call.number)?;
        self.send(&pending_call, &call.method, &params).await?;
        let result = self.answer(&pending_call).await?;
        if !result.is_object() {
            let text = format!(
                "server `{}` answered with a result that is no object",
                self.name
            );
            return Err(Error::new(Kind::Protocol, text).from_upstream(&self.name));
        }
        Ok(Reply::of_result(match call.method.is_subscription() {
            true => rename(&result, &["_meta", meta::SUBSCRIPTION_ID], &call.cx.id),
            false => result,
        }))
    }

    /// Sends a request as it is, and waits for its result.
    pub(crate) async fn request(
        &self,
        method: &Method,
        params: RawJson,
        on_drop: OnDrop,
    ) -> Result<RawJson, Error> {
        let pending_call = self.admit(CallerContext::silent(), on_drop)?;
        self.send(&pending_call, method, &params).await?;
        // They may be a slice of a large message, and a call may wait long for its answer.
        drop(params);
        self.answer(&pending_call).await
    }

    /// Passes on a notification of a client as it is.
    pub(crate) async fn pass_on(&self, notification: Call) {
        let (method, params, _) = notification.into_parts();
        let params = params.into_json();
        if let Err(error) = self.notify(&Notification { method, params }).await {
            tracing::debug!(server = %self.name, %error, "cannot pass on a notification");
        }
    }

    /// Sends a notification, waiting while the outbox is full.
    pub(crate) async fn notify(&self, notification: &Notification) -> Result<(), Error> {
        let Notification { method, params } = notification;
        self.outbox.room().await;
        self.push(|out| encode::notification(out, method, params))
    }

    /// Answers a request of the server, waiting while too many answers are unsent.
    #[cfg_attr(
        not(feature = "legacy"),
        expect(dead_code, reason = "only servers of older revisions need it")
    )]
    pub(crate) async fn respond(
        &self,
        id: &Id,
        outcome: &Result<RawJson, RpcError>,
    ) -> Result<(), Error> {
        self.outbox.answer_room().await;
        self.respond_now(id, outcome)
    }

    /// Answers a request that was just read. Never waits: nothing is read while answers have no room.
    pub(crate) fn respond_now(
        &self,
        id: &Id,
        outcome: &Result<RawJson, RpcError>,
    ) -> Result<(), Error> {
        let pushed = self.outbox.push_answer(|out| match outcome {
            Ok(result) => encode::result(out, id, result),
            Err(error) => encode::error(out, Some(id), error),
        });
        pushed.map_err(|_closed| self.is_closing())
    }

    /// Gives every message that is not an answer to `sink` instead of to the call that it names.
    ///
    /// Older revisions need this: their messages name no call.
    #[cfg_attr(
        not(feature = "legacy"),
        expect(dead_code, reason = "only servers of older revisions need it")
    )]
    pub(crate) fn set_message_sink(&self, sink: impl Fn(&Link, Frame) + Send + Sync + 'static) {
        // Closing takes the sink out. One that came later would never be dropped, so the lock is held from the
        // check on.
        let mut current = self.sink.lock();
        if !self.is_closed() {
            *current = Some(Arc::new(sink));
        }
    }

    /// Gives messages to the calls that they name again.
    pub(crate) fn clear_message_sink(&self) {
        *self.sink.lock() = None;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.pending.is_closed()
    }

    /// State of the connection of a server of the newest revision.
    pub(crate) fn state(&self) -> ConnectionState {
        match self.close_reason() {
            Some(reason) => ConnectionState::Closed(reason),
            None => ConnectionState::Connected {
                version: Version::LATEST,
            },
        }
    }

    pub(crate) fn close_reason(&self) -> Option<CloseReason> {
        self.closed.borrow().clone()
    }

    /// Waits until the connection is closed. Dropping the future is safe.
    pub(crate) async fn closed(&self) -> CloseReason {
        transport::closed(&self.closed, Option::as_ref).await
    }

    pub(super) fn message_sink(&self) -> Option<MessageSink> {
        self.sink.lock().clone()
    }

    fn admit(&self, caller: CallerContext, on_drop: OnDrop) -> Result<PendingCall<'_>, Error> {
        Ok(PendingCall {
            link: self,
            number: self.pending.admit(caller, &self.name)?,
            on_drop,
        })
    }

    async fn send(
        &self,
        pending_call: &PendingCall<'_>,
        method: &Method,
        params: &RawJson,
    ) -> Result<(), Error> {
        // A call that is dropped while it waits here was not sent, so the server is told nothing.
        self.outbox.room().await;
        self.pending
            .send(pending_call.number, &self.outbox, (method, params))
            .map_err(|_closed| self.is_closing().retry_safe())
    }

    async fn answer(&self, pending_call: &PendingCall<'_>) -> Result<RawJson, Error> {
        poll_fn(|cx| self.pending.poll_answer(pending_call.number, cx)).await
    }

    fn push(&self, write: impl FnOnce(&mut BytesMut)) -> Result<(), Error> {
        let pushed = self.outbox.push(write);
        pushed.map(drop).map_err(|_closed| self.is_closing())
    }

    fn is_closing(&self) -> Error {
        let text = format!("the connection to `{}` is closing", self.name);
        Error::new(Kind::Closed, text).from_upstream(&self.name)
    }

    /// Carries lines both ways until the connection ends, and returns why it did.
    ///
    /// Nothing is read while too many of our answers are unsent. A server that keeps asking without
    /// reading the answers would use up our memory, so it is disconnected after a while.
    pub(crate) async fn drive<R, W>(&self, reader: R, writer: W) -> CloseReason
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let mut lines = Lines::new(reader, self.config.limits.bytes);
        let mut reader = MessageRouter::new(self);
        let mut sender = Sender::new(writer).observed_by(self.observer.clone());
        let mut broken = false;
        let mut unread = UnreadAnswers::default();
        poll_fn(|cx| {
            loop {
                self.outbox.sender_is_awake();
                while self.outbox.has_answer_room()
                    && let Poll::Ready(line) = lines.poll_next(cx)
                {
                    if let Err(end) = reader.receive(line) {
                        return Poll::Ready(end);
                    }
                }
                let is_paused = !self.outbox.has_answer_room();
                // Checked after reading: answers that came before the server stopped reading count.
                if broken {
                    return Poll::Ready(self.closed_by("stopped reading"));
                }
                match sender.poll_flush(&self.outbox, cx) {
                    Poll::Ready(Err(_)) => broken = true,
                    _ if !is_paused => return Poll::Pending,
                    // There is room again, and there may be more to read.
                    _ if self.outbox.has_answer_room() => unread = UnreadAnswers::default(),
                    _ => {
                        ready!(unread.poll_timeout(self.outbox.written(), cx));
                        let did = "sends requests but does not read the answers";
                        return Poll::Ready(CloseReason::by_server(
                            &self.name,
                            Kind::Protocol,
                            did,
                        ));
                    }
                }
            }
        })
        .await
    }

    /// Closes the connection: fails all calls, now and from now on. The first reason counts.
    pub(crate) fn close(&self, reason: &CloseReason) {
        // The calls come first: those that wait for room are woken by the outbox, and must find their error.
        self.pending.close(reason, &self.outbox);
        self.outbox.close();
        *self.sink.lock() = None;
        // Announced last, so that all else is closed for the tasks that wait for it.
        self.closed.send_if_modified(|closed| {
            let is_first = closed.is_none();
            if is_first {
                *closed = Some(reason.clone());
            }
            is_first
        });
    }

    /// Takes no more lines, and ends the stream after those in the outbox.
    pub(crate) fn finish(&self) {
        self.outbox.finish();
    }

    pub(crate) fn malformed_lines(&self) -> u64 {
        self.malformed.load(Ordering::Relaxed)
    }

    /// The reason of a connection that closed because the server `did` something.
    pub(crate) fn closed_by(&self, did: &str) -> CloseReason {
        CloseReason::by_server(&self.name, Kind::Closed, did)
    }

    fn cancel(&self, number: u64) {
        let params = RawJson::encode(&serde_json::json!({ "requestId": number }))
            .expect("a number is always JSON");
        let method = Method::new(method::NOTIFICATIONS_CANCELLED);
        // On a closed connection the server cannot be told.
        let _ = self.push(|out| encode::notification(out, &method, &params));
    }
}

/// Wait for a server to read the answers to its requests.
#[derive(Default)]
struct UnreadAnswers {
    written: u64,
    timeout: Option<Pin<Box<Sleep>>>,
}

/// Time after which a server is disconnected that reads none of our answers while it asks for more.
const UNREAD_TIMEOUT: Duration = Duration::from_secs(10);

impl UnreadAnswers {
    /// Resolves when nothing has been written for too long; `written` is the number of bytes so far.
    fn poll_timeout(&mut self, written: u64, cx: &mut Context<'_>) -> Poll<()> {
        if self.written != written {
            self.written = written;
            self.timeout = None;
        }
        let timeout = self
            .timeout
            .get_or_insert_with(|| Box::pin(sleep(UNREAD_TIMEOUT)));
        timeout.as_mut().poll(cx)
    }
}

/// One call on the connection. Dropping it before the answer cancels the call.
struct PendingCall<'a> {
    link: &'a Link,
    number: u64,
    on_drop: OnDrop,
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        let is_waiting = self.link.pending.forget(self.number);
        if is_waiting && self.on_drop == OnDrop::Cancel {
            self.link.cancel(self.number);
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("name", &self.name)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// Closes the link when the task that drives it is stopped.
#[derive(Debug)]
pub(crate) struct CloseOnDrop(pub(crate) Arc<Link>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close(&CloseReason::here(&self.0.name));
    }
}

/// Replaces the id at `path` by `id`, if there is one.
pub(super) fn rename(value: &RawJson, path: &[&str], id: &Id) -> RawJson {
    if value.at(path).is_none() {
        return value.clone();
    }
    Splice::new(value)
        .set(path, id.as_raw())
        .finish()
        .unwrap_or_else(|_| value.clone())
}

/// Params with a progress token of this connection.
fn outgoing(call: &Call, number: u64) -> Result<RawJson, Error> {
    if call.method.is_subscription() {
        // The specification forbids progress on a subscription.
        return Ok(RawJson::clone(call.params()));
    }
    call.params()
        .with_meta_member(meta::PROGRESS_TOKEN, Id::number(number).as_raw())
        .map_err(|error| Error::invalid_params(error.to_string()))
}
