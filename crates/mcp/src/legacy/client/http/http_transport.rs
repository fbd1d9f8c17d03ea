use std::sync::Arc;

use callgate_wire::{Id, Notification, RawJson, RpcError, Version};
use futures_util::FutureExt as _;
use futures_util::future::Shared;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::get_stream::GetStream;
use super::http_sse;
use super::session_link::SessionLink;
use super::streamable_request::StreamableRequest;
use crate::error::Error;
use crate::legacy::client::background::BackgroundSender;
use crate::legacy::client::transport::StreamEnd;
use crate::legacy::client::{MessageSender, OldRequest, SessionTransport};
use crate::legacy::pending_responses::PendingResponses;
use crate::mutex::Mutex;
use crate::service::BoxFuture;
use crate::transport::CloseReason;
use crate::transport::http::client::{HttpUpstream, finish};

/// Session over HTTP: each of our messages is a POST.
///
/// Dropping it ends the session, and the server is told, best-effort.
pub(crate) struct HttpTransport {
    link: Arc<SessionLink>,
    incoming: Incoming,
}

/// Way of the messages of the server.
enum Incoming {
    /// Streamable HTTP: the response to each POST, and a GET stream for all that belongs to none.
    Streamable {
        messages: MessageSender,
        listener: Arc<Mutex<Option<Listener>>>,
    },
    /// HTTP+SSE: one stream carries all messages, and the session ends with it.
    Sse {
        waiting: Arc<PendingResponses>,
        reader: JoinHandle<()>,
    },
}

/// The GET stream, and the outcome of its opening, which all callers wait for.
struct Listener {
    stream: GetStream,
    opened: Shared<BoxFuture<'static, Result<StreamEnd, Arc<Error>>>>,
}

impl HttpTransport {
    /// A session of Streamable HTTP that the handshake will open. `messages` receives those that
    /// belong to no request.
    pub(crate) fn streamable(
        upstream: Arc<HttpUpstream>,
        messages: MessageSender,
        background: BackgroundSender,
    ) -> Self {
        Self {
            link: Arc::new(SessionLink::new(upstream, None, background)),
            incoming: Incoming::Streamable {
                messages,
                listener: Arc::default(),
            },
        }
    }

    /// Opens the stream of HTTP+SSE. `messages` receives all of its messages that are not responses.
    ///
    /// # Errors
    /// There is no such stream, or it does not begin with the URL to post to.
    pub(crate) async fn http_sse(
        upstream: Arc<HttpUpstream>,
        messages: MessageSender,
        background: BackgroundSender,
    ) -> Result<Self, Error> {
        let (link, events) = http_sse::open(upstream, background).await?;
        let waiting = Arc::new(PendingResponses::default());
        let reading = http_sse::read(link.clone(), waiting.clone(), messages, events);
        let reader = tokio::spawn(reading);
        Ok(Self {
            link,
            incoming: Incoming::Sse { waiting, reader },
        })
    }

    /// Waits for the end of the session; `None` if this process ended it. The future does not keep
    /// the session open.
    pub(crate) fn ended_by_server(&self) -> impl Future<Output = Option<CloseReason>> + use<> {
        let link = self.link.clone();
        async move { link.ended_by_server().await }
    }

    /// True if the server has named a session: by its id, or by the URL to post to.
    pub(crate) fn keeps_state(&self) -> bool {
        self.link.keeps_state()
    }

    /// Ends the session, and tells the server in the background.
    pub(crate) fn close(&self) {
        let request = self.link.delete();
        let lasted = self.link.end();
        match &self.incoming {
            Incoming::Streamable { listener, .. } => drop(listener.lock().take()),
            Incoming::Sse { waiting, reader } => {
                reader.abort();
                waiting.end();
            }
        }
        // A session that the server has ended needs no DELETE.
        let (true, Some(request)) = (lasted, request) else {
            return;
        };
        let link = self.link.clone();
        self.link.background().run(async move {
            match link.upstream().send(request).await {
                // With any status, 405 included: here the session has ended.
                Ok((_, body)) => finish(body).await,
                Err(error) => tracing::debug!(%error, "could not end a session"),
            }
        });
    }
}

impl SessionTransport for HttpTransport {
    fn request(
        &self,
        request: OldRequest,
        messages: MessageSender,
    ) -> BoxFuture<'static, Result<RawJson, Error>> {
        let link = self.link.clone();
        match &self.incoming {
            Incoming::Streamable { .. } => {
                Box::pin(StreamableRequest::run(link, request, messages))
            }
            Incoming::Sse { waiting, .. } => {
                Box::pin(http_sse::send_request(link, waiting.clone(), request))
            }
        }
    }

    fn ask(&self, request: OldRequest) -> BoxFuture<'static, Result<RawJson, Error>> {
        let link = self.link.clone();
        match &self.incoming {
            Incoming::Streamable { messages, .. } => {
                Box::pin(StreamableRequest::run(link, request, messages.clone()))
            }
            Incoming::Sse { waiting, .. } => {
                Box::pin(http_sse::send_request(link, waiting.clone(), request))
            }
        }
    }

    fn notify(&self, notification: Notification) -> BoxFuture<'static, Result<(), Error>> {
        let link = self.link.clone();
        Box::pin(async move { link.notify(&notification).await })
    }

    fn respond(
        &self,
        id: Id,
        outcome: Result<RawJson, RpcError>,
    ) -> BoxFuture<'static, Result<(), Error>> {
        let link = self.link.clone();
        Box::pin(async move { link.respond(&id, &outcome).await })
    }

    fn listen(&self) -> BoxFuture<'static, Result<StreamEnd, Error>> {
        let Incoming::Streamable { messages, listener } = &self.incoming else {
            // The one stream carries all messages already, and the session ends with it.
            return Box::pin(std::future::ready(Ok(StreamEnd::never())));
        };
        let (link, messages, listener) = (self.link.clone(), messages.clone(), listener.clone());
        Box::pin(async move {
            if link.is_closed() {
                return Err(link.gone());
            }
            let opened = {
                let mut listener = listener.lock();
                match &*listener {
                    Some(listener) if !listener.stream.is_finished() => listener.opened.clone(),
                    _ => {
                        let (stream, outcome) = GetStream::open(link.clone(), messages);
                        let opened = async move {
                            let outcome = outcome.await.unwrap_or_else(|_| Err(link.gone()));
                            outcome.map_err(Arc::new)
                        };
                        let opened = opened.boxed().shared();
                        *listener = Some(Listener {
                            stream,
                            opened: opened.clone(),
                        });
                        opened
                    }
                }
            };
            opened.await.map_err(|error| error.shared())
        })
    }

    fn negotiated(&self, version: Version) {
        self.link.negotiated(version);
    }

    fn is_closed(&self) -> bool {
        self.link.is_closed()
    }

    fn auth_wait_until(&self) -> Option<Instant> {
        self.link.upstream().auth_wait_until()
    }
}

impl Drop for HttpTransport {
    fn drop(&mut self) {
        self.close();
    }
}
