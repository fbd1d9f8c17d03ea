use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::flaw::Flaw;
use super::proof::ProofId;
use super::refusal::Refusal;

/// Proofs that were used, until they are too old to be used again.
#[derive(Debug, Default)]
pub(super) struct ReplayCache(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    /// Ends of the proofs, in Unix seconds.
    ends: HashMap<[u8; 32], u64>,
    /// Last removal of old proofs, in Unix seconds.
    cleaned: u64,
}

/// Maximum number of proofs, for two minutes: about 500 requests in a second.
///
/// Only clients with a valid token add one. If there is no room, requests with proofs are answered
/// with 503: forgetting a proof would let it be used again.
const MAX_PROOFS: usize = 1 << 16;

impl ReplayCache {
    /// Uses a proof at `now`, in Unix seconds.
    pub(super) fn admit(&self, proof: &ProofId, now: u64) -> Result<(), Refusal> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // At most once in a second, because it looks at all of them.
        if seen.ends.len() >= MAX_PROOFS && seen.cleaned != now {
            seen.cleaned = now;
            seen.ends.retain(|_, end| *end > now);
        }
        if seen.ends.get(&proof.digest).is_some_and(|end| *end > now) {
            return Err(Flaw::ProofReplayed.into());
        }
        if seen.ends.len() >= MAX_PROOFS {
            tracing::warn!("too many requests with DPoP proofs to remember them all");
            return Err(Refusal::Unavailable);
        }
        seen.ends.insert(proof.digest, proof.end);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Flaw, MAX_PROOFS, ProofId, Refusal, ReplayCache};

    fn proof(number: usize, end: u64) -> ProofId {
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&number.to_be_bytes());
        ProofId { digest, end }
    }

    #[test]
    fn a_proof_is_used_once() {
        let cache = ReplayCache::default();
        assert_eq!(cache.admit(&proof(1, 10), 0), Ok(()));
        assert_eq!(cache.admit(&proof(2, 10), 0), Ok(()));
        let replayed = Err(Refusal::Invalid(Flaw::ProofReplayed));
        assert_eq!(cache.admit(&proof(1, 10), 9), replayed);
        // From then on its age refuses it.
        assert_eq!(cache.admit(&proof(1, 20), 10), Ok(()));
    }

    #[test]
    fn so_many_proofs_are_remembered_and_none_is_forgotten_early() {
        let cache = ReplayCache::default();
        for number in 0..MAX_PROOFS {
            assert_eq!(cache.admit(&proof(number, 10), 0), Ok(()));
        }
        let more = proof(MAX_PROOFS, 20);
        assert_eq!(cache.admit(&more, 0), Err(Refusal::Unavailable));
        assert_eq!(cache.admit(&more, 9), Err(Refusal::Unavailable));
        let replayed = Err(Refusal::Invalid(Flaw::ProofReplayed));
        assert_eq!(cache.admit(&proof(0, 10), 9), replayed);
        assert_eq!(cache.admit(&more, 10), Ok(()));
    }
}
