use std::sync::Arc;
use std::time::Duration;

use callgate_wire::{Id, RawJson, RpcError};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::transport::Transport;

/// Our answers to what an old server asks.
pub(super) struct Replies {
    transport: Arc<dyn Transport>,
    places: Arc<Semaphore>,
}

pub(super) type Outcome = Result<RawJson, RpcError>;

/// The most answers on their way that nobody waits for.
const MOST: usize = 64;

/// How long an answer may be on its way.
const PATIENCE: Duration = Duration::from_secs(30);

impl Replies {
    pub(super) fn new(transport: Arc<dyn Transport>) -> Self {
        Self {
            transport,
            places: Arc::new(Semaphore::new(MOST)),
        }
    }

    /// Answers, and waits until the answer is sent.
    pub(super) async fn send(&self, id: Id, outcome: Outcome) {
        let sending = self.transport.respond(id, outcome);
        match timeout(PATIENCE, sending).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "an answer to a server was lost"),
            Err(_) => tracing::debug!("an answer to a server takes too long"),
        }
    }

    /// Answers by and by. With too many answers on their way, this one is dropped.
    pub(super) fn post(self: &Arc<Self>, id: Id, outcome: Outcome) {
        let (Ok(place), Ok(runtime)) = (
            self.places.clone().try_acquire_owned(),
            Handle::try_current(),
        ) else {
            return tracing::debug!(%id, "dropped an answer to a server");
        };
        let replies = self.clone();
        runtime.spawn(async move {
            replies.send(id, outcome).await;
            drop(place);
        });
    }
}
