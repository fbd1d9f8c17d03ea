use std::sync::Arc;

use callgate_wire::{Notification, RawJson, Request, Response, Version};

use super::config::Config;
use super::outlet::{Message, Outlet};
use crate::error::Error;
use crate::service::{Caller, Service};

/// One old client: what it said in its handshake, and everything it has going on.
pub(crate) struct Session {
    version: Version,
    caller: Caller,
}

impl Session {
    /// Opens a session from the params of `initialize`; also the `InitializeResult`.
    ///
    /// Asks the service what it is and can do.
    pub(crate) async fn open(
        service: Arc<dyn Service>,
        caller: Caller,
        params: &RawJson,
        config: Config,
    ) -> Result<(Arc<Self>, RawJson), Error> {
        let _ = (service, caller, params, config);
        Err(Error::internal("not yet"))
    }

    /// A client that sent a request without any handshake: it can do nothing but ask.
    pub(crate) fn without_handshake(
        service: Arc<dyn Service>,
        caller: Caller,
        version: Version,
        config: Config,
    ) -> Arc<Self> {
        let _ = (service, config);
        Arc::new(Self { version, caller })
    }

    /// Works on a request in a task of its own.
    ///
    /// What it says, its questions and at last its response go to `outlet`. A canceled request ends
    /// without a response: the outlet is dropped.
    pub(crate) fn start(self: &Arc<Self>, request: Request, outlet: Arc<dyn Outlet>) {
        let outcome = Err(Error::method_not_found(&request.method));
        outlet.push(Message::response(Some(&request.id), &outcome));
    }

    /// Takes a notification of the client.
    pub(crate) fn notified(self: &Arc<Self>, notification: Notification) {
        drop(notification);
    }

    /// Takes the answer to one of our questions.
    pub(crate) fn answered(&self, response: Response) {
        drop(response);
    }

    /// Messages that belong to no request leave by `outlet` from now on, or nowhere.
    pub(crate) fn listen(self: &Arc<Self>, outlet: Option<Arc<dyn Outlet>>) {
        drop(outlet);
    }

    /// The revision that both sides speak.
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// Who opened the session.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// How many requests are being worked on.
    pub(crate) fn in_flight(&self) -> usize {
        0
    }

    /// Cancels everything.
    pub(crate) fn close(&self) {}
}
