use std::sync::Arc;
use std::time::Duration;

use callgate_wire::Method;
use tokio::time::{Instant, sleep_until};

use crate::error::{Error, Kind};
use crate::notifier::Activity;
use crate::service::{BoxFuture, Call, Reply, Service};

/// Timeout of each request: an idle limit that progress resets, and a hard maximum.
///
/// A subscription has no timeout. When a request times out, its future is dropped, which cancels it
/// at the peer.
#[derive(Debug, Clone)]
pub struct Timeout<S> {
    service: S,
    server: Arc<str>,
    limits: TimeLimits,
}

/// Time limits of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimeLimits {
    /// Maximum silence: each progress notification of the request starts it anew.
    pub idle: Duration,
    /// Maximum wait for the reply, with or without progress.
    pub maximum: Duration,
}

/// Idle limit of one call in place of that of each [`Timeout`] below, for a caller who asks for it. A layer attaches it
/// to the [`Extensions`](crate::Extensions) of the call.
///
/// The maximum is at least as long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleLimit(Duration);

impl IdleLimit {
    /// Silence that the call may have.
    #[must_use]
    pub const fn new(idle: Duration) -> Self {
        Self(idle)
    }
}

/// Longer limits mean the same as this one, and sums with it cannot overflow.
pub(crate) const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

impl<S: Service> Timeout<S> {
    /// Limits the requests to `service`.
    pub fn new(service: S, limits: TimeLimits) -> Self {
        Self {
            service,
            server: Arc::from(""),
            limits,
        }
    }

    /// Sets the name of the server in errors.
    #[must_use]
    pub fn server_name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.server = name.into();
        self
    }
}

impl<S: Service> Service for Timeout<S> {
    fn call(&self, mut call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        // A subscription lasts as long as its caller wants, and may be silent for days.
        if call.method.is_subscription() {
            return self.service.call(call);
        }
        let limits = match call.cx.extensions.get() {
            Some(IdleLimit(idle)) => self.limits.with_idle(*idle),
            None => self.limits,
        };
        let timer = Timer::start(limits, call.cx.deadline);
        call.cx.deadline = Some(timer.last);
        call.cx.notify = call.cx.notify.observed_by(&timer.activity);
        Box::pin(async move {
            let method = call.method.clone();
            tokio::select! {
                // An outcome that is there counts, even if the time has run out since.
                biased;
                outcome = self.service.call(call) => outcome,
                expired = timer.expired() => {
                    Err(expired.to_error(&method).from_upstream(&self.server))
                }
            }
        })
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        self.service.notify(notification)
    }
}

impl Default for TimeLimits {
    /// 30 seconds of silence, 10 minutes in all.
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(30),
            maximum: Duration::from_secs(10 * 60),
        }
    }
}

impl TimeLimits {
    /// The limits with this idle one, which the maximum does not cut short.
    #[must_use]
    pub fn with_idle(self, idle: Duration) -> Self {
        Self {
            idle,
            maximum: self.maximum.max(idle),
        }
    }
}

/// Clock of one request under its limits.
#[derive(Debug)]
pub(crate) struct Timer {
    limits: TimeLimits,
    /// Time at which the request times out, whatever happens.
    pub(crate) last: Instant,
    pub(crate) activity: Arc<Activity>,
}

/// Limit that a request exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expired {
    Idle(Duration),
    Maximum(Duration),
}

impl Timer {
    /// Starts the clock; `deadline` counts if it is earlier than the maximum.
    pub(crate) fn start(limits: TimeLimits, deadline: Option<Instant>) -> Self {
        let now = Instant::now();
        let left = deadline.map_or(LONGEST, |deadline| deadline.duration_since(now));
        let limits = TimeLimits {
            idle: limits.idle.min(LONGEST),
            maximum: limits.maximum.min(left).min(LONGEST),
        };
        Self {
            limits,
            last: now + limits.maximum,
            activity: Arc::new(Activity::new(now)),
        }
    }

    /// Waits until the request has exceeded a limit.
    ///
    /// Progress wakes nothing: when the idle limit is reached, the time of the last progress tells
    /// whether to wait on. So progress costs no timer, however often it comes.
    pub(crate) async fn expired(&self) -> Expired {
        loop {
            let idle = self.activity.last() + self.limits.idle;
            sleep_until(idle.min(self.last)).await;
            if let Some(expired) = self.check() {
                return expired;
            }
        }
    }

    /// The limit that the request has exceeded by now.
    pub(crate) fn check(&self) -> Option<Expired> {
        let now = Instant::now();
        if now >= self.last {
            return Some(Expired::Maximum(self.limits.maximum));
        }
        let idle = self.limits.idle;
        (now >= self.activity.last() + idle).then_some(Expired::Idle(idle))
    }
}

impl Expired {
    /// The error of a request of `method`.
    pub(crate) fn to_error(self, method: &Method) -> Error {
        let message = match self {
            Self::Maximum(limit) => format!("`{method}` got no answer within {limit:?}"),
            Self::Idle(limit) => {
                format!("`{method}` got neither answer nor progress for {limit:?}")
            }
        };
        Error::new(Kind::Timeout, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cx, Notifier};
    use callgate_wire::{Id, Notification, RawJson, method};
    use tokio::time::sleep;

    /// Reports progress every 20 seconds, and answers after so many reports.
    struct Working {
        reports: u32,
    }

    impl Service for Working {
        fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            Box::pin(async move {
                for _ in 0..self.reports {
                    sleep(Duration::from_secs(20)).await;
                    let method = Method::new(method::NOTIFICATIONS_PROGRESS);
                    let params = RawJson::empty_object();
                    call.cx.notify.offer(Notification { method, params });
                }
                sleep(Duration::from_secs(25)).await;
                Ok(Reply::Complete(RawJson::empty_object()))
            })
        }
    }

    async fn check(
        reports: u32,
        method: &str,
        limits: TimeLimits,
        expect: (Result<(), &str>, u64),
    ) {
        let started = Instant::now();
        let inner = Timeout::new(Working { reports }, TimeLimits::default());
        let service = Timeout::new(inner, limits).server_name("far");
        let cx = Cx::new(Id::number(1)).with_notifier(Notifier::disabled());
        let call = Call::new(Method::new(method), RawJson::empty_object(), cx);
        let outcome = service.call(call).await.map(drop);
        let outcome = outcome.map_err(|error| error.to_string());
        let seconds = started.elapsed().as_secs();
        assert_eq!(
            (outcome, seconds),
            (expect.0.map_err(str::to_owned), expect.1)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn progress_resets_the_idle_limit_of_every_layer_but_not_the_maximum() {
        let limits = TimeLimits {
            maximum: Duration::from_secs(100),
            ..TimeLimits::default()
        };
        let call = "tools/call";
        check(0, call, limits, (Ok(()), 25)).await;
        check(3, call, limits, (Ok(()), 85)).await;
        let late = Err("`tools/call` got no answer within 100s");
        check(9, call, limits, (late, 100)).await;
        let idle = TimeLimits {
            idle: Duration::from_secs(15),
            ..limits
        };
        let silent = Err("`tools/call` got neither answer nor progress for 15s");
        check(3, call, idle, (silent, 15)).await;
        let listen = "subscriptions/listen";
        check(9, listen, idle, (Ok(()), 205)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_can_have_an_idle_limit_of_its_own() {
        let limits = TimeLimits {
            idle: Duration::from_secs(10),
            maximum: Duration::from_secs(20),
        };
        let service = Timeout::new(Working { reports: 0 }, limits);
        let started = Instant::now();
        for (idle, seconds) in [(None, 10), (Some(15), 15), (Some(60), 25)] {
            let cx = Cx::new(Id::number(1)).with_notifier(Notifier::disabled());
            let mut call = Call::new(Method::new("tools/call"), RawJson::empty_object(), cx);
            if let Some(idle) = idle {
                call.cx
                    .extensions
                    .insert(IdleLimit::new(Duration::from_secs(idle)));
            }
            let before = started.elapsed();
            let outcome = service.call(call).await;
            let elapsed = (started.elapsed() - before).as_secs();
            assert_eq!((outcome.is_ok(), elapsed), (seconds == 25, seconds));
        }
    }
}
