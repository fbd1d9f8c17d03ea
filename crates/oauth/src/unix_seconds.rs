//! Conversions between Unix seconds as whole numbers and as the store writes them.

/// Unix seconds without their fraction.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time that is negative or further away than any calendar becomes the nearest that is not"
)]
pub(crate) fn whole_seconds(time: f64) -> u64 {
    time as u64
}

/// Unix seconds as the store writes them.
#[expect(
    clippy::cast_precision_loss,
    reason = "what lasts longer than 200 million years may be rounded"
)]
pub(crate) fn seconds(whole: u64) -> f64 {
    whole as f64
}
