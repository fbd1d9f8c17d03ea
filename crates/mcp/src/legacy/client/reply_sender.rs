use std::sync::Arc;
use std::time::Duration;

use callgate_wire::{Id, RawJson, RpcError};
use tokio::time::timeout;

use super::background::BackgroundSender;
use super::question::Question;
use super::transport::SessionTransport;

/// Sends our answers to the requests of an old server.
#[derive(Clone)]
pub(super) struct ReplySender {
    transport: Arc<dyn SessionTransport>,
    background: BackgroundSender,
}

pub(super) type Outcome = Result<RawJson, RpcError>;

/// Maximum number of answers that are sent in the background.
const MAX_IN_BACKGROUND: u32 = 64;

/// Timeout of sending one answer. After it the answer is lost.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

impl ReplySender {
    pub(super) fn new(transport: Arc<dyn SessionTransport>) -> Self {
        Self {
            transport,
            background: BackgroundSender::with_limits(MAX_IN_BACKGROUND, SEND_TIMEOUT),
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
    pub(super) fn post(&self, id: Id, outcome: Outcome) {
        let reply_sender = self.clone();
        let sending = async move { reply_sender.send(id, outcome).await };
        self.background.run(sending);
    }

    /// Tells the server in the background that no client answers these questions.
    pub(super) fn post_unanswered(&self, questions: Vec<Question>) {
        for question in questions {
            let outcome = question.unanswered();
            self.post(question.id, outcome);
        }
    }
}
