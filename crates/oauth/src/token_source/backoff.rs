use std::time::Duration;

use super::refresh::RefreshUrgency;
use crate::store::FailedRefresh;

/// Next step of a process that may refresh a login.
#[derive(Debug, PartialEq)]
pub(super) enum Attempt {
    /// Send the request.
    Now,
    /// Ask for the permit again after this time.
    After(Duration),
    /// Report the failure of another process. The next attempt is allowed after this time.
    Failed(Duration),
}

/// Decides whether the failed attempt of another process counts for this one, which wants a refresh
/// since `began`; all times are in Unix seconds.
///
/// A process that waited for that attempt shares its result, so that a provider that is down gets
/// one attempt and not one from each process. A process that comes later respects the backoff:
/// it waits if that is short, because its user may know that the provider is up again.
pub(super) fn attempt(
    failure: Option<&FailedRefresh>,
    urgency: RefreshUrgency,
    began: f64,
    now: f64,
) -> Attempt {
    let Some(failure) = failure else {
        return Attempt::Now;
    };
    let length = failure.retry_at - failure.failed_at;
    let has_sense = failure.failed_at <= now && length <= LONGEST_RETRY_AFTER.as_secs_f64();
    if !has_sense {
        // The clock was set back, or the record is damaged.
        return Attempt::Now;
    }
    let wait = Duration::try_from_secs_f64(failure.retry_at - now).unwrap_or_default();
    if failure.failed_at >= began {
        return Attempt::Failed(wait);
    }
    match urgency {
        _ if wait.is_zero() => Attempt::Now,
        RefreshUrgency::Expired | RefreshUrgency::Refused if wait <= LONGEST_WAIT => {
            Attempt::After(wait)
        }
        _ => Attempt::Failed(wait),
    }
}

/// Backoff after so many failures before this one. `jitter` is from 0 to 1, and `asked` is the
/// `Retry-After` of the authorization server.
pub(super) fn backoff(failures: u32, asked: Option<Duration>, jitter: f64) -> Duration {
    // A `Duration` holds the largest product, so the multiplication cannot panic.
    let usual = FIRST_BACKOFF * 2_u32.saturating_pow(failures);
    let usual = usual.min(LONGEST_BACKOFF).mul_f64(0.5 + jitter / 2.0);
    usual.max(asked.unwrap_or_default().min(LONGEST_RETRY_AFTER))
}

/// Maximum backoff that a request waits for.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// Backoff after the first failure and after many. It doubles each time.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);
/// Maximum `Retry-After` that is obeyed. A server must not block a login for days by mistake.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Attempt, attempt};
    use crate::Secret;
    use crate::store::{LoginStore, RefreshDecision, StoreLimits, Tokens};
    use crate::token_source::refresh::RefreshUrgency::{self, Early, Expired, Refused};

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn check(times: (f64, f64), cases: &[(RefreshUrgency, f64, f64, Attempt)]) {
        let directory = tempfile::tempdir().unwrap();
        let store = LoginStore::new(directory.path().join("a.json"), StoreLimits::default());
        let token = Secret::new("at");
        let tokens = Some(Tokens::new(token.clone()));
        store.update("a", |login| login.tokens = tokens).unwrap();
        let permit = || match store.begin_refresh("a", &token).unwrap() {
            RefreshDecision::Permitted(permit) => permit,
            other => panic!("{other:?}"),
        };
        permit().record_failure("HTTP 503", 1, times);
        let permit = permit();
        for (urgency, began, now, expected) in cases {
            let found = attempt(permit.last_failure(), *urgency, *began, *now);
            assert_eq!(&found, expected, "{urgency:?} {began} {now}");
        }
    }

    #[test]
    fn a_process_that_waited_for_an_attempt_shares_its_failure() {
        let cases = [
            (Refused, 99.0, 100.5, Attempt::Failed(seconds(0.5))),
            (Expired, 100.0, 100.5, Attempt::Failed(seconds(0.5))),
            // However long it had to wait.
            (Refused, 99.0, 160.0, Attempt::Failed(seconds(0.0))),
        ];
        check((100.0, 101.0), &cases);
    }

    #[test]
    fn a_process_that_comes_later_respects_the_backoff() {
        let cases = [
            (Refused, 100.25, 100.5, Attempt::After(seconds(0.5))),
            (Early, 100.25, 100.5, Attempt::Failed(seconds(0.5))),
            (Refused, 101.0, 101.0, Attempt::Now),
        ];
        check((100.0, 101.0), &cases);
        let cases = [
            (Refused, 100.5, 100.5, Attempt::Failed(seconds(199.5))),
            (Refused, 297.0, 298.0, Attempt::After(seconds(2.0))),
            (Refused, 300.0, 300.0, Attempt::Now),
        ];
        check((100.0, 300.0), &cases);
    }

    #[test]
    fn a_record_from_another_time_is_ignored() {
        check((100.0, 101.0), &[(Refused, 50.0, 50.0, Attempt::Now)]);
        check((100.0, 401.0), &[(Refused, 100.5, 101.0, Attempt::Now)]);
    }
}
