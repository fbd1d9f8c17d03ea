use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use callgate_wire::{
    Frame, FrameError, Id, Notification, Request, Response, RpcError, code, encode, method,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use super::config::Config;
use super::exchange::Exchange;
use super::in_flight::{InFlight, Running};
use super::lines::{Line, Lines, is_header};
use super::outbox::{Outbox, Sender};
use crate::error::{Error, Kind};
use crate::legacy::server::{LineSession, Message, Outlet, is_batch, is_handshake};
use crate::notifier::Notifier;
use crate::server::accept::{self, RequestMeta};
use crate::server::reply;
use crate::service::{BoxFuture, Caller, Service};

/// Answers the requests that come in by `reader` until it ends.
///
/// A request that needs no waiting is answered on the spot; others are worked on side by side.
/// Requests with the same id are all answered, and all cancelled by one cancellation.
/// A client of an older revision is served as well, unless [`Config::legacy`] says otherwise.
/// When the peer reads too slowly, nothing more is read from it, and requests in flight stand still.
/// At the end of the stream, requests in flight have [`Config::grace`] to finish. Dropping the
/// future cancels them at once.
///
/// # Errors
/// Reading or writing failed, other than by the peer going away.
pub async fn serve<R, W>(
    service: Arc<dyn Service>,
    reader: R,
    writer: W,
    config: Config,
) -> Result<(), Error>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin,
{
    let legacy = config
        .legacy
        .map(|legacy| LineSession::new(service.clone(), legacy, config.limits));
    let session = Arc::new(Session {
        service,
        legacy,
        config,
        outbox: Outbox::new(config.unsent_bytes),
        in_flight: InFlight::new(&config),
    });
    let _cancel = CancelOnDrop(session.clone());
    let mut lines = Lines::new(reader, config.limits.bytes);
    let mut sender = Sender::new(writer);
    let mut ended = poll_fn(|cx| session.poll_requests(cx, &mut lines, &mut sender)).await;
    if ended.is_ok() {
        session.in_flight.cancel(|running| running.endless);
        let rest = poll_fn(|cx| session.poll_rest(cx, &mut sender));
        ended = timeout(config.grace, rest).await.unwrap_or(Ok(()));
    }
    match ended {
        Err(error) if !is_peer_gone(&error) => {
            Err(Error::new(Kind::Closed, "the connection failed").with_source(error))
        }
        _ => Ok(()),
    }
}

/// What the requests of one peer share.
pub(super) struct Session {
    service: Arc<dyn Service>,
    /// The same service for a client of an older revision.
    legacy: Option<Arc<LineSession>>,
    config: Config,
    outbox: Outbox,
    in_flight: InFlight,
}

impl Session {
    /// Reads and answers while there are requests and room for their answers.
    ///
    /// The answers to lines that arrived together leave together, before more is read.
    fn poll_requests<R, W>(
        self: &Arc<Self>,
        cx: &mut Context<'_>,
        lines: &mut Lines<R>,
        sender: &mut Sender<W>,
    ) -> Poll<io::Result<()>>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        loop {
            self.outbox.sender_is_awake();
            let mut has_room = self.outbox.has_room();
            while has_room && let Some(line) = lines.next_buffered() {
                self.receive(line);
                has_room = self.outbox.has_room();
            }
            let written = sender.poll_flush(&self.outbox, cx)?;
            if !has_room {
                // There may be more lines in the buffer.
                ready!(written);
            } else if lines.has_ended() {
                return Poll::Ready(Ok(()));
            } else {
                ready!(lines.poll_fill(cx))?;
            }
        }
    }

    /// Waits for the requests in flight and for their answers to be written.
    fn poll_rest<W: AsyncWrite + Unpin>(
        &self,
        cx: &mut Context<'_>,
        sender: &mut Sender<W>,
    ) -> Poll<io::Result<()>> {
        let legacy = self.legacy.as_ref();
        let nothing_follows =
            self.in_flight.is_empty() && legacy.is_none_or(|legacy| legacy.is_idle());
        match sender.poll_flush(&self.outbox, cx)? {
            Poll::Ready(()) if nothing_follows => Poll::Ready(Ok(())),
            _ => Poll::Pending,
        }
    }

    fn receive(self: &Arc<Self>, line: Line) {
        let line = match line {
            Line::Message(line) => line,
            Line::TooLong(id) => {
                let limit = self.config.limits.bytes;
                let text = format!("message is longer than {limit} bytes");
                return self.refuse(id.as_ref(), &RpcError::new(code::INVALID_REQUEST, text));
            }
        };
        match Frame::parse(&line, &self.config.limits) {
            Ok(Frame::Request(request)) => self.start(request, line.len()),
            Ok(Frame::Notification(notification)) => self.notified(notification),
            Ok(Frame::Response(response)) => self.answered(response),
            Err(error) => {
                let legacy = self.legacy.as_ref().filter(|_| is_batch(&line));
                if !legacy.is_some_and(|legacy| legacy.batch(line.clone(), &self.outlet())) {
                    self.refuse(error.id.as_ref(), &explain(&error, &line));
                }
            }
        }
    }

    fn start(self: &Arc<Self>, request: Request, bytes: usize) {
        let meta = match RequestMeta::read(&request.params) {
            Ok(meta) if !is_handshake(request.method.as_str()) => meta,
            other => return self.start_legacy(request, other.err()),
        };
        let id = request.id.clone();
        if !self.in_flight.has_room(bytes) {
            let busy = Error::new(Kind::Busy, "too many requests in flight");
            return self.push(|out| reply::error_response(out, Some(&id), &busy));
        }
        let endless = request.method.as_str() == method::SUBSCRIPTIONS_LISTEN;
        let (notifier, notifications) = Notifier::channel(self.config.notifications);
        let call = match meta.into_peer() {
            Ok(peer) => accept::call(request, peer, Caller::Local, notifier),
            Err(error) => {
                return self.push(|out| reply::error_response(out, Some(&id), &error));
            }
        };
        let mut exchange = Exchange::new(self.service.clone(), call, notifications);
        if exchange.try_answer(self) {
            return;
        }
        self.in_flight.add(|number| Running {
            id,
            bytes,
            endless,
            abort: tokio::spawn(exchange.run(self.clone(), number)).abort_handle(),
        });
    }

    /// A request without the metadata it needs is one of an older revision, or a mistake.
    fn start_legacy(self: &Arc<Self>, request: Request, missing: Option<Error>) {
        let refused = match &self.legacy {
            Some(legacy) => legacy.start(request, &self.outlet()).err(),
            None => Some(request),
        };
        if let Some(Request { id, method, .. }) = refused {
            let error = missing.unwrap_or_else(|| Error::method_not_found(&method));
            self.push(|out| reply::error_response(out, Some(&id), &error));
        }
    }

    fn notified(self: &Arc<Self>, notification: Notification) {
        if notification.method.as_str() == method::NOTIFICATIONS_CANCELLED {
            let unwanted = notification.params.get("requestId");
            self.in_flight
                .cancel(|running| Some(running.id.as_raw()) == unwanted.as_ref());
        }
        if let Some(legacy) = &self.legacy {
            legacy.notified(notification, &self.outlet());
        }
    }

    fn answered(self: &Arc<Self>, response: Response) {
        match &self.legacy {
            Some(legacy) => legacy.answered(response, &self.outlet()),
            None => tracing::debug!("ignored a response from a client"),
        }
    }

    fn outlet(self: &Arc<Self>) -> Arc<dyn Outlet> {
        self.clone()
    }

    fn refuse(&self, id: Option<&Id>, error: &RpcError) {
        tracing::debug!(%error.message, "refused a message");
        self.push(|out| encode::error(out, id, error));
    }

    /// Appends one line for the peer.
    pub(super) fn push(&self, write: impl FnOnce(&mut BytesMut)) {
        self.outbox
            .push(write)
            .expect("the outbox of a session is not closed while it lasts");
    }

    /// Whether another line should be appended now.
    pub(super) fn has_room(&self) -> bool {
        self.outbox.has_room()
    }

    /// Waits until another line should be appended.
    pub(super) async fn room(&self) {
        self.outbox.room().await;
    }

    pub(super) fn in_flight(&self) -> &InFlight {
        &self.in_flight
    }
}

impl Outlet for Session {
    fn push(&self, message: Message) {
        self.push(|out| out.extend_from_slice(&message.json));
    }

    fn room(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.outbox.room())
    }
}

/// Cancels what is in flight when the server stops for any reason.
struct CancelOnDrop(Arc<Session>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.in_flight.cancel(|_| true);
        if let Some(legacy) = &self.0.legacy {
            legacy.close();
        }
    }
}

fn explain(error: &FrameError, line: &Bytes) -> RpcError {
    if is_header(line) {
        return RpcError::new(
            code::PARSE_ERROR,
            "messages are lines of JSON; `Content-Length` headers are not part of the transport",
        );
    }
    error.to_rpc()
}

fn is_peer_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof
    )
}
