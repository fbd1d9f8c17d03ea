use std::sync::Arc;

use callgate_wire::legacy::method as old;
use callgate_wire::{Id, Notification, RawJson, RpcError, Version};

use super::transport::{Heard, Hearing, Outgoing, Transport};
use crate::error::Error;
use crate::service::BoxFuture;
use crate::transport::line::{Link, Unwanted};

/// An old server at the other end of lines. The connection is the session.
#[derive(Debug)]
pub(super) struct Lines(Arc<Link>);

impl Lines {
    /// Speaks the old protocol on `link` from now on; also what is heard there outside of answers.
    pub(super) fn new(link: Arc<Link>, capacity: usize) -> (Self, Hearing) {
        let (heard, hearing) = Heard::channel(capacity);
        link.divert(move |link, frame| {
            if let Some((id, refusal)) = heard.offer(frame) {
                // On a connection that is over there is nobody to tell.
                let _ = link.respond(&id, &Err(refusal));
            }
        });
        (Self(link), hearing)
    }
}

impl Transport for Lines {
    fn request(
        &self,
        request: Outgoing,
        _heard: Heard,
    ) -> BoxFuture<'static, Result<RawJson, Error>> {
        let link = self.0.clone();
        let Outgoing { method, params } = request;
        let unwanted = match method.as_str() {
            old::INITIALIZE => Unwanted::Ignore,
            _ => Unwanted::Cancel,
        };
        Box::pin(async move { link.request(&method, &params, unwanted).await })
    }

    fn notify(&self, notification: Notification) -> BoxFuture<'static, Result<(), Error>> {
        let link = self.0.clone();
        Box::pin(async move { link.notify(&notification).await })
    }

    fn respond(
        &self,
        id: Id,
        outcome: Result<RawJson, RpcError>,
    ) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(std::future::ready(self.0.respond(&id, &outcome)))
    }

    fn listen(&self) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn negotiated(&self, _version: Version) {}

    fn is_over(&self) -> bool {
        self.0.is_over()
    }
}
