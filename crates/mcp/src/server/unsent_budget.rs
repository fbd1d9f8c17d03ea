use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;

use crate::error::{Error, Kind};
use crate::mutex::Mutex;
use crate::service::Caller;

/// Memory for the unsent answers of a server: of all callers together, and of each one.
///
/// Bytes count from the moment that they are answers until the last copy of them is dropped, be it in
/// a queue of ours or in the buffers of a connection. There is room until a limit is reached, so one
/// answer may exceed it.
#[derive(Debug)]
pub(crate) struct UnsentBudget {
    max: usize,
    max_per_caller: usize,
    /// All bytes that count.
    total: AtomicUsize,
    /// The same by caller; callers without any are left out.
    by_caller: Mutex<HashMap<Caller, usize>>,
}

/// Share of one caller in an [`UnsentBudget`].
#[derive(Debug, Clone)]
pub(crate) struct CallerBudget {
    budget: Arc<UnsentBudget>,
    caller: Caller,
}

/// Size from which on an answer counts. The number of smaller ones is bounded by that of connections.
const SMALLEST_COUNTED: usize = 8 * 1024;

/// Time after which a refused client may ask again: a client that reads makes room at once.
pub(crate) const RETRY_AFTER: Duration = Duration::from_secs(1);

impl UnsentBudget {
    pub(crate) fn new(max: usize, max_per_caller: usize) -> Arc<Self> {
        Arc::new(Self {
            max,
            max_per_caller,
            total: AtomicUsize::new(0),
            by_caller: Mutex::default(),
        })
    }

    /// True if another answer to `caller` should be made now.
    ///
    /// Costs one load while few bytes are unsent.
    pub(crate) fn has_room(&self, caller: &Caller) -> bool {
        let total = self.total.load(Ordering::Relaxed);
        if total < self.max.min(self.max_per_caller) {
            return true;
        }
        total < self.max && self.of(caller) < self.max_per_caller
    }

    fn of(&self, caller: &Caller) -> usize {
        let by_caller = self.by_caller.lock();
        by_caller.get(caller).copied().unwrap_or(0)
    }
}

impl CallerBudget {
    pub(crate) fn new(budget: &Arc<UnsentBudget>, caller: &Caller) -> Self {
        Self {
            budget: budget.clone(),
            caller: caller.clone(),
        }
    }

    /// Counts the bytes of an answer until they are dropped.
    ///
    /// # Errors
    /// There is no room: the answer is lost, and its call may have had an effect.
    pub(crate) fn admit(&self, bytes: Bytes) -> Result<Bytes, Error> {
        if bytes.len() < SMALLEST_COUNTED {
            return Ok(bytes);
        }
        // Not one step with `hold`: answers that come at the same moment may exceed the limit by themselves.
        if !self.budget.has_room(&self.caller) {
            let text = "the answer is dropped, because too many answers are unread; read them, \
                        then try again";
            return Err(Error::new(Kind::Busy, text).with_retry_after(RETRY_AFTER));
        }
        Ok(self.hold(bytes))
    }

    /// Counts bytes that are sent whether there is room or not.
    pub(crate) fn count(&self, bytes: Bytes) -> Bytes {
        match bytes.len() < SMALLEST_COUNTED {
            true => bytes,
            false => self.hold(bytes),
        }
    }

    /// Counts bytes that are kept after they are sent, unless kept bytes would take the room of
    /// answers.
    #[cfg(feature = "legacy")]
    pub(crate) fn keep(&self, bytes: Bytes) -> Option<Bytes> {
        let UnsentBudget {
            max,
            max_per_caller,
            ..
        } = *self.budget;
        let total = self.budget.total.load(Ordering::Relaxed);
        // The other half is left to answers that clients wait for.
        let has_room = total < max / 2 && self.budget.of(&self.caller) < max_per_caller / 2;
        has_room.then(|| match bytes.len() < SMALLEST_COUNTED {
            true => self.hold(bytes),
            // Counted when it was made.
            false => bytes,
        })
    }

    fn hold(&self, bytes: Bytes) -> Bytes {
        let mut by_caller = self.budget.by_caller.lock();
        *by_caller.entry(self.caller.clone()).or_default() += bytes.len();
        // Under the lock of the shares, so that the two agree. Only readers of the total do without it.
        self.budget.total.fetch_add(bytes.len(), Ordering::Relaxed);
        drop(by_caller);
        Bytes::from_owner(CountedBytes {
            bytes,
            share: self.clone(),
        })
    }
}

/// Bytes that count until they are dropped.
struct CountedBytes {
    bytes: Bytes,
    share: CallerBudget,
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for CountedBytes {
    fn drop(&mut self) {
        let CallerBudget { budget, caller } = &self.share;
        let mut by_caller = budget.by_caller.lock();
        budget.total.fetch_sub(self.bytes.len(), Ordering::Relaxed);
        if let Some(of_caller) = by_caller.get_mut(caller) {
            *of_caller -= self.bytes.len();
            if *of_caller == 0 {
                by_caller.remove(caller);
            }
        }
    }
}

impl fmt::Debug for CountedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CountedBytes({})", self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(length: usize) -> Bytes {
        Bytes::from(vec![b'x'; length])
    }

    #[test]
    fn answers_count_until_the_last_copy_is_dropped() {
        let budget = UnsentBudget::new(30_000, 20_000);
        let (ann, bob) = (Caller::named("ann"), Caller::named("bob"));
        let share = |caller| CallerBudget::new(&budget, caller);
        let first = share(&ann).admit(bytes(10_000)).unwrap();
        let copy = first.slice(9_999..);
        drop(first);
        let second = share(&ann).admit(bytes(10_000)).unwrap();
        assert!(share(&ann).admit(bytes(10_000)).is_err());
        assert!(!budget.has_room(&ann) && budget.has_room(&bob));

        let third = share(&bob).admit(bytes(10_000)).unwrap();
        assert!(!budget.has_room(&bob), "the server has no more room");
        drop(copy);
        assert!(budget.has_room(&ann) && budget.has_room(&bob));
        drop((second, third));
        assert_eq!(budget.total.load(Ordering::Relaxed), 0);
        assert_eq!(*budget.by_caller.lock(), HashMap::new());
    }

    #[test]
    fn small_answers_do_not_count_and_some_are_sent_all_the_same() {
        let budget = UnsentBudget::new(1, 1);
        let share = CallerBudget::new(&budget, &Caller::Anonymous);
        let small = share.admit(bytes(SMALLEST_COUNTED - 1)).unwrap();
        assert!(budget.has_room(&Caller::Anonymous));
        let counted = share.count(bytes(SMALLEST_COUNTED));
        assert!(share.admit(bytes(SMALLEST_COUNTED)).is_err());
        assert!(share.admit(small).is_ok());
        drop(counted);
        assert!(share.admit(bytes(SMALLEST_COUNTED)).is_ok());
    }

    #[cfg(feature = "legacy")]
    #[test]
    fn events_are_kept_only_in_one_half() {
        let budget = UnsentBudget::new(20, 10);
        let share = CallerBudget::new(&budget, &Caller::Anonymous);
        let first = share.keep(bytes(4)).unwrap();
        let second = share.keep(bytes(4)).unwrap();
        assert_eq!(share.keep(bytes(1)), None);
        assert!(budget.has_room(&Caller::Anonymous));
        drop(first);
        assert_eq!(share.keep(bytes(1)), Some(bytes(1)));
        drop(second);
    }
}
