use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The pages that users are done with, by the ids that the server gave them.
#[derive(Debug, Default)]
pub(super) struct Pages {
    done: Mutex<VecDeque<String>>,
    changed: Notify,
}

/// How many are remembered.
const REMEMBERED: usize = 256;

impl Pages {
    /// Remembers that a user is done with a page.
    pub(super) fn complete(&self, id: String) {
        let mut done = self.done();
        if done.len() >= REMEMBERED {
            done.pop_front();
        }
        done.push_back(id);
        drop(done);
        self.changed.notify_waiters();
    }

    /// Waits until users are done with all of these. Dropping the future changes nothing.
    pub(super) async fn completed(&self, ids: &[String]) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the look at the pages, so that no wake-up is missed.
            changed.as_mut().enable();
            {
                let done = self.done();
                if ids.iter().all(|id| done.contains(id)) {
                    return;
                }
            }
            changed.await;
        }
    }

    fn done(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_last_pages_are_remembered() {
        let pages = Pages::default();
        for number in 0..=REMEMBERED {
            pages.complete(number.to_string());
        }
        assert_eq!(pages.done().len(), REMEMBERED);
        pages
            .completed(&["1".to_owned(), REMEMBERED.to_string()])
            .await;
        assert!(!pages.done().contains(&"0".to_owned()));
    }
}
