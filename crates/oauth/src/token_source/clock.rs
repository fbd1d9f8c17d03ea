use std::time::{SystemTime, UNIX_EPOCH};

/// Current time in Unix seconds, with the fraction that the store keeps.
pub(super) fn unix_time() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}
