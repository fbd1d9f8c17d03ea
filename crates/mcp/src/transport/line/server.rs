use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use callgate_wire::{Frame, FrameError, Id, Notification, Request, RpcError, code, encode, method};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use super::config::LineConfig;
use super::lines::{Line, Lines, is_header};
use super::outbox::{Outbox, Sender};
use super::server_call;
use crate::error::{Error, Kind};
use crate::notifier::Notifier;
use crate::server::accept::{self, IncompleteMeta, RequestMeta};
use crate::server::{
    ClientMessage, ClientNotifications, InFlight, RunningCall, RunningRequest, reply, revisions,
};
use crate::service::{Call, Cx, Service, Source, TransportKind};

/// Serves the requests that arrive on `reader` until it ends.
///
/// A request that needs no waiting is answered at once; others run concurrently.
/// Requests with the same id are all answered, and all canceled by one cancellation.
/// Clients of older revisions are served as well if [`LineConfig::sessions`] has limits for them.
/// If the peer reads too slowly, nothing more is read from it, and requests in flight are paused.
/// At the end of the input, requests in flight have [`LineConfig::grace`] to finish. Dropping the
/// future cancels them at once.
///
/// # Errors
/// Reading or writing failed, other than because the peer closed the connection.
pub async fn serve<R, W>(
    service: Arc<dyn Service>,
    reader: R,
    writer: W,
    config: LineConfig,
) -> Result<(), Error>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin,
{
    let server = Arc::new(LineServer {
        sessions: revisions::line_sessions(&service, &config),
        service,
        config,
        outbox: Outbox::new(config.unsent_bytes),
        in_flight: InFlight::new(config.in_flight, config.in_flight_bytes),
        notifications: Arc::default(),
    });
    let _cancel = CancelOnDrop(server.clone());
    let mut lines = Lines::new(reader, config.limits.bytes);
    let mut sender = Sender::new(writer);
    let mut ended = poll_fn(|cx| server.poll_requests(cx, &mut lines, &mut sender)).await;
    if ended.is_ok() {
        // A subscription would use up the whole grace period: nothing ends it but the client.
        server.in_flight.cancel(|request| request.endless);
        let rest = poll_fn(|cx| server.poll_finish(cx, &mut sender));
        // Requests that take longer are canceled, which is no failure of the connection.
        ended = timeout(config.grace, rest).await.unwrap_or(Ok(()));
    }
    match ended {
        Err(error) if !is_peer_gone(&error) => {
            Err(Error::new(Kind::Closed, "the connection failed").with_source(error))
        }
        _ => Ok(()),
    }
}

/// Revisions with sessions that share a line connection with the newest one.
pub(crate) trait LineSessions: Send + Sync {
    /// Handles a message, unless it belongs to none of these revisions; then it is handed back.
    /// Responses go to `line`. `meta` is the metadata of a request.
    fn take(
        self: Arc<Self>,
        message: ClientMessage,
        meta: Option<IncompleteMeta>,
        line: &Arc<LineServer>,
    ) -> Result<(), ClientMessage>;

    /// True if no request runs.
    fn is_idle(&self) -> bool;

    /// Cancels everything.
    fn close(&self);
}

/// State that the requests of one line connection share.
pub(crate) struct LineServer {
    service: Arc<dyn Service>,
    sessions: Option<Arc<dyn LineSessions>>,
    config: LineConfig,
    pub(super) outbox: Outbox,
    pub(super) in_flight: InFlight,
    notifications: Arc<ClientNotifications>,
}

impl LineServer {
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
    fn poll_finish<W: AsyncWrite + Unpin>(
        &self,
        cx: &mut Context<'_>,
        sender: &mut Sender<W>,
    ) -> Poll<io::Result<()>> {
        let sessions = self.sessions.as_ref();
        let is_idle =
            self.in_flight.len() == 0 && sessions.is_none_or(|sessions| sessions.is_idle());
        match sender.poll_flush(&self.outbox, cx)? {
            Poll::Ready(()) if is_idle => Poll::Ready(Ok(())),
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
            Ok(frame) => {
                if let Frame::Notification(notification) = &frame
                    && notification.method.as_str() == method::NOTIFICATIONS_CANCELLED
                {
                    let unwanted = notification.params.get("requestId");
                    self.in_flight
                        .cancel(|request| Some(request.id.as_raw()) == unwanted.as_ref());
                }
                // Cancellations as well: the request may be one of an older revision.
                self.hand_over(ClientMessage::One(frame), None);
            }
            Err(error) => match ClientMessage::from_malformed(&line, error) {
                Ok(array) => self.hand_over(array, None),
                Err(error) => self.refuse(error.id.as_ref(), &explain(&error, &line)),
            },
        }
    }

    /// Starts a request of the newest revision, which is known by its complete metadata.
    fn start(self: &Arc<Self>, request: Request, bytes: usize) {
        let meta = match RequestMeta::read(&request.params) {
            Ok(meta) => meta,
            Err(incomplete) => {
                let message = ClientMessage::One(Frame::Request(request));
                return self.hand_over(message, Some(incomplete));
            }
        };
        let id = request.id.clone();
        // Only requests of this revision count here; sessions have limits of their own.
        if !self.in_flight.has_room(bytes) {
            let busy = Error::new(Kind::Busy, "too many requests in flight");
            return self.push(|out| reply::error_response(out, Some(&id), &busy));
        }
        let endless = request.method.is_subscription();
        let (notifier, notifications) = Notifier::channel(self.config.notifications);
        let call = match meta.into_peer() {
            Ok(peer) => accept::call(request, peer, notifier, |cx| {
                cx.source = Source::new(TransportKind::Lines);
            }),
            Err(error) => {
                return self.push(|out| reply::error_response(out, Some(&id), &error));
            }
        };
        let mut call = RunningCall::start(self.service.clone(), call, Some(notifications));
        // A quick call is answered here: a task for each would cost more than most tools do.
        if server_call::try_answer(&mut call, self) {
            return;
        }
        self.in_flight.add(|number| RunningRequest {
            id,
            bytes,
            endless,
            abort: tokio::spawn(server_call::run(call, self.clone(), number)).abort_handle(),
        });
    }

    /// Hands a message to the older revisions. If none takes it, a request is refused because of its
    /// metadata.
    fn hand_over(self: &Arc<Self>, message: ClientMessage, meta: Option<IncompleteMeta>) {
        let message = match &self.sessions {
            Some(sessions) => sessions.clone().take(message, meta, self),
            None => Err(message),
        };
        match message {
            Ok(()) => {}
            Err(ClientMessage::One(Frame::Notification(notification))) => {
                let Notification { method, params } = notification;
                let cx = Cx::new(Id::number(0)).with_source(Source::new(TransportKind::Lines));
                let notification = Call::new(method, params, cx);
                self.notifications.pass_on(&self.service, notification);
            }
            Err(ClientMessage::One(Frame::Response(_))) => {
                tracing::debug!("ignored a response from a client");
            }
            Err(ClientMessage::One(Frame::Request(request))) => {
                let error = match meta {
                    Some(incomplete) => incomplete.into_error(),
                    None => Error::method_not_found(&request.method),
                };
                let error = revisions::explain(&request, error);
                self.push(|out| reply::error_response(out, Some(&request.id), &error));
            }
            Err(ClientMessage::Array(array, error)) => {
                tracing::debug!(bytes = array.len(), "no session takes this batch");
                self.refuse(error.id.as_ref(), &error.to_rpc());
            }
        }
    }

    fn refuse(&self, id: Option<&Id>, error: &RpcError) {
        tracing::debug!(%error.message, "refused a message");
        self.push(|out| encode::error(out, id, error));
    }

    /// Appends one line for the peer.
    pub(crate) fn push(&self, write: impl FnOnce(&mut BytesMut)) {
        self.outbox
            .push(write)
            .expect("the outbox of a server is not closed while it runs");
    }

    /// True if another line should be appended.
    #[cfg(feature = "legacy")]
    pub(crate) fn has_room(&self) -> bool {
        self.outbox.has_room()
    }

    /// Waits until another line should be appended.
    pub(crate) async fn room(&self) {
        self.outbox.room().await;
    }
}

/// Cancels all requests in flight when the server ends, for any reason.
struct CancelOnDrop(Arc<LineServer>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.in_flight.cancel(|_| true);
        if let Some(sessions) = &self.0.sessions {
            sessions.close();
        }
    }
}

/// The error for a line that is no message.
fn explain(error: &FrameError, line: &Bytes) -> RpcError {
    // Clients that were written for the language server protocol send its headers.
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
