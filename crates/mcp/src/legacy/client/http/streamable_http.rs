use std::sync::Arc;

use callgate_wire::{Id, Notification, RawJson, RpcError, Version};
use tokio::time::Instant;

use super::background::BackgroundSender;
use super::get_stream::GetStream;
use super::session_link::SessionLink;
use super::streamable_request::StreamableRequest;
use crate::error::Error;
use crate::legacy::client::{MessageSender, OldRequest, SessionTransport};
use crate::mutex::Mutex;
use crate::service::BoxFuture;
use crate::transport::http::client::{HttpUpstream, finish};

/// Session over Streamable HTTP: each of our messages is a POST.
///
/// Dropping it ends the session, and the server is told, best-effort.
pub(crate) struct StreamableHttp {
    link: Arc<SessionLink>,
    messages: MessageSender,
    listener: Arc<Mutex<Option<GetStream>>>,
}

impl StreamableHttp {
    /// A session that the handshake will open. `messages` receives those that belong to no request.
    pub(crate) fn new(
        upstream: Arc<HttpUpstream>,
        messages: MessageSender,
        background: BackgroundSender,
    ) -> Self {
        Self {
            link: Arc::new(SessionLink::new(upstream, None, background)),
            messages,
            listener: Arc::default(),
        }
    }

    pub(crate) fn link(&self) -> &Arc<SessionLink> {
        &self.link
    }

    /// Ends the session, and tells the server in the background.
    pub(crate) fn close(&self) {
        let request = self.link.delete();
        let lasted = self.link.end();
        self.listener.lock().take();
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

impl SessionTransport for StreamableHttp {
    fn request(
        &self,
        request: OldRequest,
        messages: MessageSender,
    ) -> BoxFuture<'static, Result<RawJson, Error>> {
        Box::pin(StreamableRequest::run(self.link.clone(), request, messages))
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

    fn listen(&self) -> BoxFuture<'static, Result<(), Error>> {
        let (link, messages) = (self.link.clone(), self.messages.clone());
        let listener = self.listener.clone();
        Box::pin(async move {
            if link.is_closed() {
                return Err(link.gone());
            }
            let opened = {
                let mut listener = listener.lock();
                if listener.as_ref().is_some_and(|open| !open.is_finished()) {
                    return Ok(());
                }
                let (new, opened) = GetStream::open(link.clone(), messages);
                *listener = Some(new);
                opened
            };
            opened.await.unwrap_or_else(|_| Err(link.gone()))
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

impl Drop for StreamableHttp {
    fn drop(&mut self) {
        self.close();
    }
}
