//! Reconnection: when to connect to a server, decided without clock, tasks and randomness.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Delays and limits of reconnection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReconnectPolicy {
    /// Upper bound of the first delay; each failure in a row doubles it. The first loss of a connection that worked
    /// counts as a failure, but is followed by an attempt at once.
    pub first_delay: Duration,
    /// Upper bound of all delays, and of the wait that a server may ask for.
    pub longest_delay: Duration,
    /// Number of attempts within `breaker_window` after which the hub stops to connect by itself.
    pub breaker_attempts: usize,
    /// Period in which attempts are counted.
    pub breaker_window: Duration,
    /// Time after which a stopped server is tried once more, if it is used.
    pub breaker_pause: Duration,
    /// Life of a connection after which earlier failures no longer count.
    pub stable_after: Duration,
}

impl Default for ReconnectPolicy {
    /// Delays of up to 0.5 to 60 seconds; stops after 5 attempts in 30 seconds, and tries again when
    /// the server is used 10 seconds later.
    fn default() -> Self {
        Self {
            first_delay: Duration::from_millis(500),
            longest_delay: Duration::from_secs(60),
            breaker_attempts: 5,
            breaker_window: Duration::from_secs(30),
            breaker_pause: Duration::from_secs(10),
            stable_after: Duration::from_secs(30),
        }
    }
}

/// State machine of the connection to one server.
///
/// [`Supervisor::step`] makes every decision. The task of the server feeds it with events and acts on
/// the [`Phase`] that it is in afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supervisor {
    policy: ReconnectPolicy,
    start: Start,
    phase: Phase,
    /// Failed attempts and lost connections in a row.
    failures: u32,
    /// Times of the latest attempts, oldest first, at most one more than the breaker allows.
    attempts: VecDeque<Instant>,
}

/// Time at which a server is connected to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Start {
    /// At the start of the hub.
    #[default]
    AtOnce,
    /// At the first use of the server by a caller. Its catalog is known from an earlier connection, if any.
    OnFirstUse,
}

/// Phase of the connection to one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Turned off by the configuration.
    Disabled,
    /// Not used yet, or unused for a while; the next use connects.
    Idle,
    /// An attempt to connect is under way.
    Connecting,
    /// The server is connected since this time.
    Connected {
        /// Time of the connection.
        since: Instant,
    },
    /// The next attempt is at this time.
    Waiting {
        /// Time of the next attempt.
        retry_at: Instant,
    },
    /// Too many attempts: the hub waits for a use after this time, or for a person.
    Stopped {
        /// Time from which a use connects again.
        until: Instant,
        /// Number of recent attempts.
        attempts: usize,
    },
    /// A person must act: nothing is sent to the server until the login changes.
    Locked(Lock),
}

/// Reason why a person must act before a server can be connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lock {
    /// The server wants a login.
    NeedsAuth,
    /// The authorization server wants a client that was registered by hand.
    NeedsClientRegistration,
}

/// Event in the life of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The configuration turns the server on.
    Enable,
    /// The configuration turns the server off.
    Disable,
    /// A caller uses the server.
    Used,
    /// No caller has used the server for its idle time.
    Unused,
    /// The attempt succeeded.
    Connected,
    /// The attempt failed.
    ConnectFailed(Failure),
    /// The connection ended.
    Lost,
    /// The time of [`Phase::Waiting`] has come.
    TimerFired,
    /// The stored login changed.
    LoginChanged,
    /// A person asks for another attempt.
    Retry,
}

/// Outcome of a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// A later attempt may succeed; the server may have said when.
    Transient {
        /// Wait that the server asked for.
        retry_after: Option<Duration>,
    },
    /// No attempt succeeds before a person has acted.
    Locked(Lock),
}

impl Supervisor {
    /// The supervisor of a server that is turned off.
    #[must_use]
    pub fn new(policy: ReconnectPolicy, start: Start) -> Self {
        Self {
            policy,
            start,
            phase: Phase::Disabled,
            failures: 0,
            attempts: VecDeque::new(),
        }
    }

    /// Current phase.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Makes the decision that follows from `event` at the time `now`.
    ///
    /// `random` is a number from 0 to 1: the share of the longest delay that is waited (full jitter),
    /// so that hubs that lost a server together do not come back together.
    pub fn step(&mut self, event: Event, now: Instant, random: f64) {
        match (event, self.phase) {
            (Event::Disable, _) => {
                self.phase = Phase::Disabled;
                self.forget_failures();
            }
            (Event::Enable, Phase::Disabled) => match self.start {
                Start::AtOnce => self.connect(now),
                Start::OnFirstUse => self.phase = Phase::Idle,
            },
            // Late events of a connection do not turn a disabled server on.
            (_, Phase::Disabled) => {}

            (Event::Connected, Phase::Connecting) => self.phase = Phase::Connected { since: now },
            (Event::ConnectFailed(failure), Phase::Connecting) => self.fail(failure, now, random),
            (Event::Lost, Phase::Connected { since }) => {
                if now.duration_since(since) >= self.policy.stable_after {
                    self.forget_failures();
                }
                match self.failures {
                    // Callers wait for a server that worked and was lost: most often it was killed or
                    // restarted, and is there again. Only what fails again is worth a delay.
                    0 => {
                        self.failures = 1;
                        self.connect(now);
                    }
                    _ => {
                        let retry_after = None;
                        self.fail(Failure::Transient { retry_after }, now, random);
                    }
                }
            }
            (Event::TimerFired, Phase::Waiting { retry_at }) if now >= retry_at => {
                self.connect(now);
            }
            (Event::Used, Phase::Idle) => self.connect(now),
            (Event::Used, Phase::Stopped { until, .. }) if now >= until => {
                // One attempt: the window still holds the earlier ones if they are recent.
                self.connect(now);
            }
            (Event::Unused, Phase::Connected { .. }) if self.start == Start::OnFirstUse => {
                self.phase = Phase::Idle;
                self.forget_failures();
            }
            // A new login, or a person who asks, counts as a fresh start; a login that changes while
            // the server is connected is used by the next request anyway.
            (
                Event::LoginChanged,
                Phase::Locked(_) | Phase::Waiting { .. } | Phase::Stopped { .. },
            )
            | (
                Event::Retry,
                Phase::Locked(_) | Phase::Waiting { .. } | Phase::Stopped { .. } | Phase::Idle,
            ) => {
                self.forget_failures();
                self.connect(now);
            }
            // Late or repeated events change nothing.
            _ => {}
        }
    }

    fn connect(&mut self, now: Instant) {
        let window = self.policy.breaker_window;
        let is_old = |attempt: &Instant| now.duration_since(*attempt) >= window;
        while self.attempts.front().is_some_and(is_old) {
            self.attempts.pop_front();
        }
        self.attempts.push_back(now);
        self.phase = Phase::Connecting;
    }

    fn fail(&mut self, failure: Failure, now: Instant, random: f64) {
        let retry_after = match failure {
            Failure::Locked(lock) => {
                // Once a person has acted, the attempts begin anew.
                self.forget_failures();
                self.phase = Phase::Locked(lock);
                return;
            }
            Failure::Transient { retry_after } => retry_after,
        };
        let delay = self.delay(random).max(retry_after.unwrap_or_default());
        let retry_at = now + delay.min(self.policy.longest_delay);
        self.failures = self.failures.saturating_add(1);
        self.phase = match self.is_one_too_many(retry_at) {
            true => Phase::Stopped {
                until: now + self.policy.breaker_pause,
                attempts: self.attempts.len(),
            },
            false => Phase::Waiting { retry_at },
        };
    }

    /// True if an attempt at `retry_at` would be more than the breaker allows.
    fn is_one_too_many(&self, retry_at: Instant) -> bool {
        let window = self.policy.breaker_window;
        let recent = |attempt: &&Instant| retry_at.duration_since(**attempt) < window;
        self.attempts.iter().filter(recent).count() >= self.policy.breaker_attempts
    }

    fn delay(&self, random: f64) -> Duration {
        let factor = 2_u32.checked_pow(self.failures).unwrap_or(u32::MAX);
        let longest = self.policy.first_delay.saturating_mul(factor);
        let longest = longest.min(self.policy.longest_delay);
        longest.mul_f64(random.clamp(0.0, 1.0))
    }

    fn forget_failures(&mut self) {
        self.failures = 0;
        self.attempts.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of a server that is enabled at time 0: milliseconds, event, and the phase after it.
    fn check(start: Start, steps: &[(u64, Event, Expect)]) {
        let zero = Instant::now();
        let mut supervisor = Supervisor::new(ReconnectPolicy::default(), start);
        supervisor.step(Event::Enable, zero, LONGEST);
        for (at, event, expect) in steps {
            let now = zero + Duration::from_millis(*at);
            supervisor.step(*event, now, LONGEST);
            let phase = match supervisor.phase() {
                Phase::Disabled => Expect::Disabled,
                Phase::Idle => Expect::Idle,
                Phase::Connecting => Expect::Connecting,
                Phase::Connected { since } => Expect::Connected(millis(since, zero)),
                Phase::Waiting { retry_at } => Expect::Waiting(millis(retry_at, zero)),
                Phase::Stopped { until, attempts } => {
                    assert_eq!(attempts, 5);
                    Expect::Stopped(millis(until, zero))
                }
                Phase::Locked(lock) => Expect::Locked(lock),
            };
            assert_eq!(phase, *expect, "after {event:?} at {at} ms");
        }
    }

    /// A phase with its time in milliseconds.
    #[derive(Debug, PartialEq)]
    enum Expect {
        Disabled,
        Idle,
        Connecting,
        Connected(u64),
        Waiting(u64),
        Stopped(u64),
        Locked(Lock),
    }

    const LONGEST: f64 = 1.0;
    const FAILED: Event = Event::ConnectFailed(Failure::Transient { retry_after: None });
    const NEEDS_AUTH: Event = Event::ConnectFailed(Failure::Locked(Lock::NeedsAuth));

    fn millis(time: Instant, zero: Instant) -> u64 {
        u64::try_from(time.duration_since(zero).as_millis()).unwrap()
    }

    #[test]
    fn delays_double_and_the_breaker_stops_the_sixth_attempt_in_thirty_seconds() {
        use Expect::{Connecting, Stopped, Waiting};
        check(
            Start::AtOnce,
            &[
                (0, FAILED, Waiting(500)),
                (499, Event::TimerFired, Waiting(500)),
                (500, Event::TimerFired, Connecting),
                (500, FAILED, Waiting(1_500)),
                (1_500, Event::TimerFired, Connecting),
                (1_500, FAILED, Waiting(3_500)),
                (3_500, Event::TimerFired, Connecting),
                (3_500, FAILED, Waiting(7_500)),
                (7_500, Event::TimerFired, Connecting),
                (7_600, FAILED, Stopped(17_600)),
                (9_000, Event::Used, Stopped(17_600)),
                (9_000, Event::TimerFired, Stopped(17_600)),
                (17_600, Event::Used, Connecting),
                // The window has moved on, so the hub goes on by itself, slowly.
                (40_000, FAILED, Waiting(56_000)),
            ],
        );
    }

    #[test]
    fn a_server_that_exits_right_after_it_connects_is_stopped_too() {
        let mut steps = Vec::new();
        let mut at = 0;
        steps.push((at, Event::Connected, Expect::Connected(at)));
        steps.push((at, Event::Lost, Expect::Connecting));
        for delay in [1_000, 2_000, 4_000] {
            steps.push((at, Event::Connected, Expect::Connected(at)));
            steps.push((at, Event::Lost, Expect::Waiting(at + delay)));
            at += delay;
            steps.push((at, Event::TimerFired, Expect::Connecting));
        }
        steps.push((at, Event::Connected, Expect::Connected(at)));
        steps.push((at, Event::Lost, Expect::Stopped(at + 10_000)));
        check(Start::AtOnce, &steps);
    }

    #[test]
    fn a_stable_connection_clears_earlier_failures() {
        check(
            Start::AtOnce,
            &[
                (0, FAILED, Expect::Waiting(500)),
                (500, Event::TimerFired, Expect::Connecting),
                (500, FAILED, Expect::Waiting(1_500)),
                (1_500, Event::TimerFired, Expect::Connecting),
                (1_500, Event::Connected, Expect::Connected(1_500)),
                (31_500, Event::Lost, Expect::Connecting),
                (31_600, FAILED, Expect::Waiting(32_600)),
            ],
        );
    }

    #[test]
    fn the_wait_that_a_server_asks_for_is_kept_within_the_longest_delay() {
        let failed = |seconds| {
            Event::ConnectFailed(Failure::Transient {
                retry_after: Some(Duration::from_secs(seconds)),
            })
        };
        check(Start::AtOnce, &[(0, failed(20), Expect::Waiting(20_000))]);
        check(Start::AtOnce, &[(0, failed(900), Expect::Waiting(60_000))]);
    }

    #[test]
    fn a_server_that_needs_a_login_is_left_alone_until_the_login_changes() {
        let locked = Expect::Locked(Lock::NeedsAuth);
        check(
            Start::AtOnce,
            &[
                (0, NEEDS_AUTH, locked),
                (500, Event::TimerFired, Expect::Locked(Lock::NeedsAuth)),
                (500, Event::Used, Expect::Locked(Lock::NeedsAuth)),
                (900, Event::LoginChanged, Expect::Connecting),
                (950, Event::Connected, Expect::Connected(950)),
                (990, Event::LoginChanged, Expect::Connected(950)),
            ],
        );
    }

    #[test]
    fn a_server_that_starts_on_first_use_is_stopped_when_it_is_unused() {
        check(
            Start::OnFirstUse,
            &[
                (0, Event::TimerFired, Expect::Idle),
                (5, Event::Used, Expect::Connecting),
                (9, Event::Connected, Expect::Connected(9)),
                (99, Event::Unused, Expect::Idle),
                (200, Event::Used, Expect::Connecting),
            ],
        );
    }

    #[test]
    fn a_server_that_is_turned_off_stays_off() {
        check(
            Start::AtOnce,
            &[
                (0, Event::Disable, Expect::Disabled),
                (1, Event::Connected, Expect::Disabled),
                (1, Event::Used, Expect::Disabled),
                (1, Event::LoginChanged, Expect::Disabled),
                (1, Event::Retry, Expect::Disabled),
                (2, Event::Enable, Expect::Connecting),
            ],
        );
    }

    #[test]
    fn jitter_takes_any_share_of_the_longest_delay() {
        let now = Instant::now();
        for (random, millis) in [(0.0, 0), (0.5, 250), (1.0, 500), (7.0, 500)] {
            let mut supervisor = Supervisor::new(ReconnectPolicy::default(), Start::AtOnce);
            supervisor.step(Event::Enable, now, random);
            supervisor.step(FAILED, now, random);
            let retry_at = now + Duration::from_millis(millis);
            assert_eq!(supervisor.phase(), Phase::Waiting { retry_at });
        }
    }
}
