use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

/// Waits for `work` as long as the server may take for it, which is `limit`.
///
/// What is `held_up_until` some time by anybody else has the whole limit after that: a person who
/// has to log in first is no slow server.
///
/// # Errors
/// It took longer.
pub(super) async fn wait<T>(
    limit: Duration,
    held_up_until: impl Fn() -> Option<Instant>,
    work: impl Future<Output = T>,
) -> Result<T, TooLate> {
    let mut work = pin!(work);
    let mut deadline = Instant::now() + limit;
    loop {
        if let Ok(done) = timeout_at(deadline, &mut work).await {
            return Ok(done);
        }
        deadline = match held_up_until() {
            Some(until) if until + limit > deadline => until + limit,
            _ => return Err(TooLate),
        };
    }
}

/// The server took too long.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLate;

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::sleep;

    const LIMIT: Duration = Duration::from_secs(60);

    /// After how many seconds work that takes `seconds` is done or given up, if it is held up from
    /// the beginning until `held_up`.
    async fn check(seconds: u64, held_up: Option<u64>, expect: (Result<(), TooLate>, u64)) {
        let begun = Instant::now();
        let end = held_up.map(|held_up| begun + Duration::from_secs(held_up));
        let until = || end.map(|end| end.min(Instant::now()));
        let seen = wait(LIMIT, until, sleep(Duration::from_secs(seconds))).await;
        assert_eq!((seen, begun.elapsed().as_secs()), expect);
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_time_of_the_server_counts() {
        check(59, None, (Ok(()), 59)).await;
        check(61, None, (Err(TooLate), 60)).await;
        check(61, Some(30), (Ok(()), 61)).await;
        check(100, Some(30), (Err(TooLate), 90)).await;
        check(1000, Some(960), (Ok(()), 1000)).await;
        check(1000, Some(900), (Err(TooLate), 960)).await;
    }
}
