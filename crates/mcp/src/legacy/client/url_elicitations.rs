use std::collections::VecDeque;

use tokio::sync::Notify;

use crate::mutex::Mutex;

/// URL elicitations that users have completed, by the ids of the server.
#[derive(Debug, Default)]
pub(super) struct UrlElicitations {
    done: Mutex<VecDeque<String>>,
    changed: Notify,
}

/// Maximum number of remembered ids.
const REMEMBERED: usize = 256;

impl UrlElicitations {
    /// Remembers that a user has completed an elicitation.
    pub(super) fn complete(&self, id: String) {
        let mut done = self.done.lock();
        if done.len() >= REMEMBERED {
            done.pop_front();
        }
        done.push_back(id);
        drop(done);
        self.changed.notify_waiters();
    }

    /// Waits until users have completed all of these. Dropping the future is safe.
    pub(super) async fn completed(&self, ids: &[String]) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the check of the ids, so that no wake-up is missed.
            changed.as_mut().enable();
            {
                let done = self.done.lock();
                if ids.iter().all(|id| done.contains(id)) {
                    return;
                }
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_last_elicitations_are_remembered() {
        let elicitations = UrlElicitations::default();
        for number in 0..=REMEMBERED {
            elicitations.complete(number.to_string());
        }
        assert_eq!(elicitations.done.lock().len(), REMEMBERED);
        elicitations
            .completed(&["1".to_owned(), REMEMBERED.to_string()])
            .await;
        assert!(!elicitations.done.lock().contains(&"0".to_owned()));
    }
}
