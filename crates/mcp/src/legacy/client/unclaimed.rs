use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callgate_wire::Id;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::question::Question;

/// Questions that came outside of any call and wait for one that can carry them.
pub(super) struct Unclaimed {
    most: usize,
    patience: Duration,
    questions: Mutex<VecDeque<(Instant, Question)>>,
    changed: Notify,
}

impl Unclaimed {
    pub(super) fn new(most: usize, patience: Duration) -> Self {
        Self {
            most,
            patience,
            questions: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Lets a question wait, or gives it back where too many do.
    pub(super) fn put(&self, question: Question) -> Result<(), Question> {
        let mut questions = self.questions();
        if questions.len() >= self.most {
            return Err(question);
        }
        questions.push_back((Instant::now() + self.patience, question));
        drop(questions);
        self.changed.notify_one();
        Ok(())
    }

    /// Takes out the questions that are `suited`.
    pub(super) fn claim(&self, suited: impl Fn(&Question) -> bool) -> Vec<Question> {
        let mut claimed = Vec::new();
        self.questions().retain(|(_, question)| {
            let is_suited = suited(question);
            if is_suited {
                claimed.push(question.clone());
            }
            !is_suited
        });
        claimed
    }

    /// Forgets a question that the server takes back.
    pub(super) fn withdraw(&self, id: &Id) {
        self.questions().retain(|(_, question)| question.id != *id);
    }

    /// The next question that nobody claimed in time. Dropping the future loses nothing.
    pub(super) async fn expired(&self) -> Question {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the look at the questions, so that no wake-up is missed.
            changed.as_mut().enable();
            let next = self.questions().front().map(|(until, _)| *until);
            match next {
                None => changed.await,
                Some(until) => tokio::select! {
                    () = sleep_until(until) => {
                        let mut questions = self.questions();
                        if questions.front().is_some_and(|(until, _)| *until <= Instant::now())
                            && let Some((_, question)) = questions.pop_front()
                        {
                            return question;
                        }
                    }
                    () = changed => {}
                },
            }
        }
    }

    fn questions(&self) -> MutexGuard<'_, VecDeque<(Instant, Question)>> {
        self.questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
