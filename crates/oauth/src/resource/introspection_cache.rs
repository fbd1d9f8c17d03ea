use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::claims::Claims;
use super::flaw::Flaw;

/// Cache of introspection responses by the digest of their token.
///
/// One request is made for all that wait for the same token.
#[derive(Debug, Default)]
pub(super) struct IntrospectionCache(Mutex<HashMap<[u8; 32], Arc<Slot>>>);

/// Meaning of a response.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// The token is active, with these claims, which are still to be checked. The seconds are the
    /// time to its end.
    Active(Box<Claims>, Option<u64>),
    /// The token is not active, or the response says too little about it.
    Refused(Flaw),
    /// The issuer cannot be asked now.
    Unavailable,
}

type Slot = OnceCell<(Answer, Instant)>;

/// Maximum number of tokens. For one more, the one is forgotten whose answer ends first.
const MAX_TOKENS: usize = 4096;

/// Time that an active token is not asked about again, and so the time that a revoked one still works.
const ACTIVE: Duration = Duration::from_secs(60);
/// The same for a token that is not active. It is short: any client can send one.
const REFUSED: Duration = Duration::from_secs(10);
/// Time until an issuer that failed is asked again about a token.
const FAILED: Duration = Duration::from_secs(5);

impl Answer {
    /// Time that the answer is used, never beyond the end of the token.
    fn lifetime(&self) -> Duration {
        match self {
            Self::Active(_, None) => ACTIVE,
            Self::Active(_, Some(left)) => ACTIVE.min(Duration::from_secs(*left)),
            Self::Refused(_) => REFUSED,
            Self::Unavailable => FAILED,
        }
    }
}

impl IntrospectionCache {
    /// The answer about `token`, from the cache or by `ask`.
    ///
    /// If the future is dropped while it asks, the next one that waits asks again.
    pub(super) async fn answer<F>(&self, token: &[u8], ask: impl FnOnce() -> F) -> Answer
    where
        F: Future<Output = Answer>,
    {
        let Some(slot) = self.slot(Sha256::digest(token).into()) else {
            return Answer::Unavailable;
        };
        let ask = async {
            let answer = ask().await;
            let end = Instant::now() + answer.lifetime();
            (answer, end)
        };
        slot.get_or_init(|| ask).await.0.clone()
    }

    /// The slot of a token, a new one if its answer is too old; `None` if there is no room.
    fn slot(&self, digest: [u8; 32]) -> Option<Arc<Slot>> {
        let now = Instant::now();
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let end = |slot: &Slot| slot.get().map(|(_, end)| *end);
        if let Some(slot) = slots.get(&digest)
            && end(slot).is_none_or(|end| end > now)
        {
            return Some(slot.clone());
        }
        if slots.len() >= MAX_TOKENS && !slots.contains_key(&digest) {
            // A slot without an answer that only the cache holds was left by a dropped request.
            slots.retain(|_, slot| match end(slot) {
                Some(end) => end > now,
                None => Arc::strong_count(slot) > 1,
            });
            if slots.len() >= MAX_TOKENS {
                // Refused tokens end first, so strangers do not displace those of callers.
                let ends = slots
                    .iter()
                    .filter_map(|(digest, slot)| Some((end(slot)?, *digest)));
                let (_, first) = ends.min()?;
                slots.remove(&first);
            }
        }
        let slot = Arc::new(Slot::new());
        slots.insert(digest, slot.clone());
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use serde_json::json;
    use tokio::time::advance;

    use super::*;

    fn active(left: Option<u64>) -> Answer {
        let claims = json!({"iss": "i", "aud": "a", "exp": 1, "sub": "s"});
        Answer::Active(Box::new(serde_json::from_value(claims).unwrap()), left)
    }

    /// Number of times that the issuer was asked about tokens.
    #[derive(Default)]
    struct Asked(Cell<usize>);

    impl Asked {
        async fn about(&self, cache: &IntrospectionCache, token: &str, answer: &Answer) -> usize {
            let ask = || async {
                self.0.set(self.0.get() + 1);
                answer.clone()
            };
            cache.answer(token.as_bytes(), ask).await;
            self.0.get()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_used_for_its_time_and_no_longer() {
        const INSTANT: Duration = Duration::from_millis(1);
        for (answer, time) in [
            (active(None), ACTIVE),
            (active(Some(600)), ACTIVE),
            (active(Some(7)), Duration::from_secs(7)),
            (Answer::Refused(Flaw::Inactive), REFUSED),
            (Answer::Unavailable, FAILED),
        ] {
            let (cache, asked) = (IntrospectionCache::default(), Asked::default());
            assert_eq!(asked.about(&cache, "a", &answer).await, 1);
            advance(time - INSTANT).await;
            assert_eq!(asked.about(&cache, "a", &answer).await, 1, "{answer:?}");
            advance(INSTANT).await;
            assert_eq!(asked.about(&cache, "a", &answer).await, 2, "{answer:?}");
        }
        let (cache, asked) = (IntrospectionCache::default(), Asked::default());
        let ended = active(Some(0));
        for count in 1..3 {
            assert_eq!(asked.about(&cache, "a", &ended).await, count);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_tokens_are_remembered_and_refused_ones_go_first() {
        let (cache, asked) = (IntrospectionCache::default(), Asked::default());
        asked.about(&cache, "good", &active(None)).await;
        let refused = Answer::Refused(Flaw::Inactive);
        for number in 0..MAX_TOKENS * 2 {
            asked.about(&cache, &number.to_string(), &refused).await;
        }
        assert_eq!(cache.0.lock().unwrap().len(), MAX_TOKENS);
        let before = asked.0.get();
        assert_eq!(asked.about(&cache, "good", &refused).await, before);
        assert_eq!(asked.about(&cache, "0", &refused).await, before + 1);
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_wait_take_no_room_from_each_other() {
        let cache = IntrospectionCache::default();
        let slots: Vec<_> = (0..MAX_TOKENS)
            .map(|number| cache.slot(Sha256::digest(number.to_string()).into()))
            .collect();
        assert!(cache.slot([0; 32]).is_none());
        // A dropped request leaves its place.
        drop(slots);
        assert!(cache.slot([0; 32]).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn requests_with_one_token_share_one_question() {
        let (cache, asked) = (IntrospectionCache::default(), Asked::default());
        let ask = || {
            cache.answer(b"a", || async {
                asked.0.set(asked.0.get() + 1);
                tokio::time::sleep(Duration::from_secs(1)).await;
                active(None)
            })
        };
        // One that leaves in the middle takes nothing away from the others.
        let left = tokio::time::timeout(Duration::from_millis(500), ask()).await;
        assert!(left.is_err());
        tokio::join!(ask(), ask(), ask());
        assert_eq!(asked.0.get(), 2);
    }

    #[test]
    fn no_token_is_in_the_cache() {
        let cache = IntrospectionCache::default();
        cache.slot(Sha256::digest("canary").into());
        assert!(!format!("{cache:?}").contains("canary"));
    }
}
