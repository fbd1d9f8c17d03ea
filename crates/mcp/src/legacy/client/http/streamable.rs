use std::sync::{Arc, Mutex, PoisonError};

use callgate_wire::{Id, Notification, RawJson, RpcError, Version};
use tokio::time::Instant;

use super::background::Background;
use super::exchange::Exchange;
use super::link::Link;
use super::listener::Listener;
use crate::error::Error;
use crate::legacy::client::{Heard, Outgoing, Transport};
use crate::service::BoxFuture;
use crate::transport::http::client::{Site, finish};

/// A session with an old server over Streamable HTTP: every message is a POST.
///
/// Dropping it ends the session, and the server is told, best-effort.
pub(in crate::legacy::client) struct Streamable {
    link: Arc<Link>,
    heard: Heard,
    listener: Arc<Mutex<Option<Listener>>>,
}

impl Streamable {
    /// A session that is yet to be opened by a handshake. `heard` gets what belongs to no request.
    pub(in crate::legacy::client) fn new(
        site: Arc<Site>,
        heard: Heard,
        background: Background,
    ) -> Self {
        Self {
            link: Arc::new(Link::new(site, None, background)),
            heard,
            listener: Arc::default(),
        }
    }

    /// Ends the session, and tells the server some time soon.
    pub(in crate::legacy::client) fn close(&self) {
        let request = self.link.delete();
        let lasted = self.link.end();
        let listener = self.listener.lock();
        listener.unwrap_or_else(PoisonError::into_inner).take();
        let (true, Some(request)) = (lasted, request) else {
            return;
        };
        let link = self.link.clone();
        self.link.background().run(async move {
            match link.site().send(request).await {
                // Whatever the status, 405 included: on our side the session is over.
                Ok((_, body)) => finish(body).await,
                Err(error) => tracing::debug!(%error, "could not end a session"),
            }
        });
    }
}

impl Transport for Streamable {
    fn request(
        &self,
        request: Outgoing,
        heard: Heard,
    ) -> BoxFuture<'static, Result<RawJson, Error>> {
        Box::pin(Exchange::run(self.link.clone(), request, heard))
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
        let (link, heard) = (self.link.clone(), self.heard.clone());
        let listener = self.listener.clone();
        Box::pin(async move {
            if link.is_over() {
                return Err(link.gone());
            }
            let opened = {
                let mut listener = listener.lock().unwrap_or_else(PoisonError::into_inner);
                if listener.as_ref().is_some_and(|open| !open.is_over()) {
                    return Ok(());
                }
                let (new, opened) = Listener::open(link.clone(), heard);
                *listener = Some(new);
                opened
            };
            opened.await.unwrap_or_else(|_| Err(link.gone()))
        })
    }

    fn negotiated(&self, version: Version) {
        self.link.negotiated(version);
    }

    fn is_over(&self) -> bool {
        self.link.is_over()
    }

    fn held_up_until(&self) -> Option<Instant> {
        self.link.site().held_up_until()
    }
}

impl Drop for Streamable {
    fn drop(&mut self) {
        self.close();
    }
}
