use std::time::{SystemTime, UNIX_EPOCH};

/// The time in Unix seconds, as logins are kept with it.
pub(super) fn unix_time() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time that is negative or further away than any calendar becomes the nearest that is not"
)]
pub(super) fn whole_seconds(time: f64) -> u64 {
    time as u64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "what lasts longer than 200 million years may be rounded"
)]
pub(super) fn seconds(whole: u64) -> f64 {
    whole as f64
}
