use std::sync::Arc;
use std::time::Duration;

use callgate_wire::{Id, RawJson, RpcError};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::transport::SessionTransport;

/// Sends our answers to the requests of an old server.
pub(super) struct ReplySender {
    transport: Arc<dyn SessionTransport>,
    permits: Arc<Semaphore>,
}

pub(super) type Outcome = Result<RawJson, RpcError>;

/// Maximum number of answers that are sent in the background.
const MAX_IN_BACKGROUND: usize = 64;

/// Timeout of sending one answer.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

impl ReplySender {
    pub(super) fn new(transport: Arc<dyn SessionTransport>) -> Self {
        Self {
            transport,
            permits: Arc::new(Semaphore::new(MAX_IN_BACKGROUND)),
        }
    }

    /// Sends an answer, and waits until it is sent.
    pub(super) async fn send(&self, id: Id, outcome: Outcome) {
        let sending = self.transport.respond(id, outcome);
        match timeout(SEND_TIMEOUT, sending).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "an answer to a server was lost"),
            Err(_) => tracing::debug!("an answer to a server takes too long"),
        }
    }

    /// Sends an answer in the background. It is dropped if too many are on their way.
    pub(super) fn post(self: &Arc<Self>, id: Id, outcome: Outcome) {
        let (Ok(permit), Ok(runtime)) = (
            self.permits.clone().try_acquire_owned(),
            Handle::try_current(),
        ) else {
            return tracing::debug!(%id, "dropped an answer to a server");
        };
        let reply_sender = self.clone();
        runtime.spawn(async move {
            reply_sender.send(id, outcome).await;
            drop(permit);
        });
    }
}
