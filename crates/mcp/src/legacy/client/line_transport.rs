use std::sync::Arc;

use callgate_wire::legacy::method as old;
use callgate_wire::{Id, Notification, RawJson, RpcError};

use super::transport::{MessageReceiver, MessageSender, OldRequest, SessionTransport};
use crate::error::Error;
use crate::service::BoxFuture;
use crate::transport::line::{Link, OnDrop};

/// Transport of an old server on lines. The connection is the session.
#[derive(Debug)]
pub(crate) struct LineTransport(Arc<Link>);

impl LineTransport {
    /// Uses `link` for a session from now on, and returns the receiver of its messages.
    pub(crate) fn new(link: Arc<Link>, capacity: usize) -> (Self, MessageReceiver) {
        let (messages, incoming) = MessageSender::channel(capacity);
        link.set_message_sink(move |link, frame| {
            if let Some((id, refusal)) = messages.offer(frame) {
                // On a closed connection the answer cannot be sent.
                let _ = link.respond_now(&id, &Err(refusal));
            }
        });
        (Self(link), incoming)
    }
}

impl SessionTransport for LineTransport {
    fn request(
        &self,
        request: OldRequest,
        _messages: MessageSender,
    ) -> BoxFuture<'static, Result<RawJson, Error>> {
        // A request has no stream of its own here.
        self.ask(request)
    }

    fn ask(&self, request: OldRequest) -> BoxFuture<'static, Result<RawJson, Error>> {
        let link = self.0.clone();
        let OldRequest { method, params } = request;
        let on_drop = match method.as_str() {
            // The specification forbids to cancel the handshake.
            old::INITIALIZE => OnDrop::Ignore,
            _ => OnDrop::Cancel,
        };
        Box::pin(async move { link.request(&method, params, on_drop).await })
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
        let link = self.0.clone();
        Box::pin(async move { link.respond(&id, &outcome).await })
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}
