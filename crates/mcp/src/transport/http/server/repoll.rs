use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// Future that is polled again at once if it was woken while it was polled, a few times at most.
///
/// A connection of hyper wakes itself for the body of each request: the service asks for it while
/// the connection is polled. The scheduler would put the task at the end of its queue and wake
/// another thread for it, which costs more than the poll.
pub(super) struct Repoll<F> {
    future: F,
    wakes: Arc<Wakes>,
    waker: Waker,
}

/// Maximum number of polls in a row. A future that always wakes itself, as one does whose share of
/// this turn is used up, must let other tasks run.
const MAX_POLLS: usize = 4;

/// Wake-ups of the future: those during a poll are remembered, all others go to the task.
#[derive(Default)]
struct Wakes {
    state: AtomicU8,
    task: AtomicWaker,
}

const IDLE: u8 = 0;
const POLLING: u8 = 1;
const WOKEN: u8 = 2;

impl<F> Repoll<F> {
    pub(super) fn new(future: F) -> Self {
        let wakes = Arc::new(Wakes::default());
        Self {
            future,
            waker: wakes.clone().into(),
            wakes,
        }
    }
}

impl<F: Future + Unpin> Future for Repoll<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self {
            future,
            wakes,
            waker,
        } = &mut *self;
        wakes.task.register(cx.waker());
        for _ in 0..MAX_POLLS {
            wakes.state.store(POLLING, Ordering::Release);
            let polled = Pin::new(&mut *future).poll(&mut Context::from_waker(waker));
            let before = wakes.state.swap(IDLE, Ordering::AcqRel);
            if polled.is_ready() || before == POLLING {
                return polled;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let seen = self
            .state
            .compare_exchange(POLLING, WOKEN, Ordering::AcqRel, Ordering::Acquire);
        if seen == Err(IDLE) {
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    /// Task that counts how often it is woken.
    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Polls a future once that wakes itself in its first polls and then stays pending; returns the
    /// number of its polls, the wake-ups of its task, and the waker that it got.
    fn poll_once(self_wakes: usize) -> (usize, Arc<Counter>, Waker) {
        let mut polls = 0;
        let mut kept = None;
        let counter = Arc::new(Counter::default());
        {
            let mut future = Repoll::new(poll_fn(|cx| {
                polls += 1;
                if polls <= self_wakes {
                    cx.waker().wake_by_ref();
                }
                kept = Some(cx.waker().clone());
                Poll::<()>::Pending
            }));
            let waker = Waker::from(counter.clone());
            let polled = Pin::new(&mut future).poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
        }
        (polls, counter, kept.unwrap())
    }

    #[test]
    fn a_future_that_wakes_itself_is_polled_again_without_its_task() {
        let (polls, task, waker) = poll_once(2);
        assert_eq!((polls, task.0.load(Ordering::Relaxed)), (3, 0));
        waker.wake();
        assert_eq!(
            task.0.load(Ordering::Relaxed),
            1,
            "a later wake-up is that of the task"
        );
    }

    #[test]
    fn a_future_that_always_wakes_itself_lets_other_tasks_run() {
        let (polls, task, _) = poll_once(usize::MAX);
        assert_eq!((polls, task.0.load(Ordering::Relaxed)), (MAX_POLLS, 1));
    }
}
