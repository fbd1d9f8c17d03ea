use std::sync::Arc;

use callgate_wire::RawJson;
use tokio::time::{Instant, sleep_until};

use super::call_table::{CallTable, OldCall};
use super::reply_sender::ReplySender;
use super::session::SessionShared;
use super::transport::MessageReceiver;
use crate::error::Error;
use crate::service::BoxFuture;

/// One call at an old server: its request, and the messages of the server that belong to it.
///
/// While its client is asked for input, it is kept as it is. Dropping it cancels the call.
pub(super) struct RunningCall {
    pub(super) old_call: Arc<OldCall>,
    pub(super) calls: Arc<CallTable>,
    pub(super) reply_sender: ReplySender,
    pub(super) answer: BoxFuture<'static, Result<RawJson, Error>>,
    pub(super) incoming: MessageReceiver,
}

impl RunningCall {
    /// Drives the call until it is answered; `None` if its client has to be asked for input first.
    pub(super) async fn drive(&mut self, shared: &SessionShared) -> Option<Result<RawJson, Error>> {
        let mut ask_at = None;
        loop {
            tokio::select! {
                // Queued messages came before the answer.
                biased;
                Some(message) = self.incoming.recv() => shared.handle_message(message, Some(&self.old_call)),
                answer = &mut self.answer => {
                    while let Ok(message) = self.incoming.try_recv() {
                        shared.handle_message(message, Some(&self.old_call));
                    }
                    // Messages that came before the answer are handled before it.
                    shared.handle_waiting_messages();
                    return Some(answer);
                }
                () = self.old_call.asked(), if ask_at.is_none() => {
                    // Servers that need several inputs ask for one after the other, without waiting:
                    // a short pause collects them into one round.
                    ask_at = Some(Instant::now() + shared.config.input_gathering);
                }
                () = gathered(ask_at), if ask_at.is_some() => return None,
            }
        }
    }

    /// Gives the call up: tells the server that no input comes, and then cancels the call.
    pub(super) async fn abandon(self) {
        for question in self.old_call.close() {
            let outcome = question.unanswered();
            self.reply_sender.send(question.id, outcome).await;
        }
    }
}

/// Waits until the questions of one round are asked. Unlike the timer in it, it costs nothing until
/// it is polled, and few calls ask.
async fn gathered(ask_at: Option<Instant>) {
    if let Some(ask_at) = ask_at {
        sleep_until(ask_at).await;
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.calls.remove(self.old_call.number);
        self.reply_sender.post_unanswered(self.old_call.close());
    }
}
