use std::sync::Arc;

use callgate_wire::RawJson;
use tokio::time::{Instant, sleep_until};

use super::flight::{Flight, Flights};
use super::replies::Replies;
use super::session::Shared;
use super::transport::Hearing;
use crate::error::Error;
use crate::service::BoxFuture;

/// One call at an old server, and what is heard on its behalf.
///
/// It waits as it is while its client is asked something. Dropping it cancels the call.
pub(super) struct Exchange {
    pub(super) flight: Arc<Flight>,
    pub(super) flights: Arc<Flights>,
    pub(super) replies: Arc<Replies>,
    pub(super) answer: BoxFuture<'static, Result<RawJson, Error>>,
    pub(super) hearing: Hearing,
}

/// How far a call came.
pub(super) enum Came {
    /// The server answered.
    Answered(Result<RawJson, Error>),
    /// The server wants to know something.
    Asked,
}

impl Exchange {
    /// Works on the call until it is answered or its client has to be asked something.
    pub(super) async fn drive(&mut self, shared: &Shared) -> Came {
        let mut ask_at = None;
        loop {
            let gathered = ask_at.unwrap_or_else(Instant::now);
            tokio::select! {
                biased;
                Some(message) = self.hearing.recv() => shared.hear(message, Some(&self.flight)),
                answer = &mut self.answer => {
                    while let Ok(message) = self.hearing.try_recv() {
                        shared.hear(message, Some(&self.flight));
                    }
                    // What the server said before it answered comes before the answer.
                    shared.catch_up();
                    return Came::Answered(answer);
                }
                () = self.flight.asked(), if ask_at.is_none() => {
                    // Servers that ask several things at once do so one after the other.
                    ask_at = Some(Instant::now() + shared.config.gather);
                }
                () = sleep_until(gathered), if ask_at.is_some() => return Came::Asked,
            }
        }
    }

    /// Gives the call up: says that nobody answers, and then cancels it.
    pub(super) async fn abandon(self) {
        for question in self.flight.close() {
            let outcome = question.unanswered();
            self.replies.send(question.id, outcome).await;
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.flights.remove(self.flight.number);
        for question in self.flight.close() {
            let outcome = question.unanswered();
            self.replies.post(question.id, outcome);
        }
    }
}
