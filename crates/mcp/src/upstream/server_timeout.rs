use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

/// Timeout for the server only: the time that requests wait for the authorizer does not count.
///
/// The whole `limit` begins again at `auth_wait_until`, since a user who logs in is not a slow
/// server.
///
/// # Errors
/// The server took longer than `limit`.
pub(crate) async fn server_timeout<T>(
    limit: Duration,
    auth_wait_until: impl Fn() -> Option<Instant>,
    work: impl Future<Output = T>,
) -> Result<T, TimedOut> {
    let mut work = pin!(work);
    let mut deadline = Instant::now() + limit;
    loop {
        if let Ok(done) = timeout_at(deadline, &mut work).await {
            return Ok(done);
        }
        deadline = match auth_wait_until() {
            Some(until) if until + limit > deadline => until + limit,
            _ => return Err(TimedOut),
        };
    }
}

/// The server took longer than the limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TimedOut;

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::sleep;

    const LIMIT: Duration = Duration::from_secs(60);

    /// Runs work of so many `seconds`, during which the authorizer is waited for until `auth_wait`,
    /// and checks its outcome and the seconds until then.
    async fn check(seconds: u64, auth_wait: Option<u64>, expect: (Result<(), TimedOut>, u64)) {
        let begun = Instant::now();
        let end = auth_wait.map(|auth_wait| begun + Duration::from_secs(auth_wait));
        let until = || end.map(|end| end.min(Instant::now()));
        let seen = server_timeout(LIMIT, until, sleep(Duration::from_secs(seconds))).await;
        assert_eq!((seen, begun.elapsed().as_secs()), expect);
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_time_of_the_server_counts() {
        check(59, None, (Ok(()), 59)).await;
        check(61, None, (Err(TimedOut), 60)).await;
        check(61, Some(30), (Ok(()), 61)).await;
        check(100, Some(30), (Err(TimedOut), 90)).await;
        check(1000, Some(960), (Ok(()), 1000)).await;
        check(1000, Some(900), (Err(TimedOut), 960)).await;
    }
}
