use std::collections::VecDeque;

use tokio::sync::watch;

/// URL elicitations that users have completed, by the ids of the server.
#[derive(Debug, Default)]
pub(super) struct UrlElicitations(watch::Sender<VecDeque<String>>);

/// Maximum number of remembered ids. For one more, the oldest is forgotten.
const REMEMBERED: usize = 256;

impl UrlElicitations {
    /// Remembers that a user has completed an elicitation.
    pub(super) fn complete(&self, id: String) {
        self.0.send_modify(|done| {
            if done.len() >= REMEMBERED {
                done.pop_front();
            }
            done.push_back(id);
        });
    }

    /// Waits until users have completed all of these. Dropping the future is safe.
    pub(super) async fn completed(&self, ids: &[String]) {
        let mut done = self.0.subscribe();
        let all = |done: &VecDeque<String>| ids.iter().all(|id| done.contains(id));
        // It cannot fail: the sender lives as long as `self`.
        let _ = done.wait_for(all).await;
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
        assert_eq!(elicitations.0.borrow().len(), REMEMBERED);
        elicitations
            .completed(&["1".to_owned(), REMEMBERED.to_string()])
            .await;
        assert!(!elicitations.0.borrow().contains(&"0".to_owned()));
    }
}
