use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Timestamp in ISO 8601 and UTC, with milliseconds; a time before 1970 is written as 1970.
pub(crate) fn timestamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let seconds = since.as_secs();
    let (year, month, day) = civil_date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    let millis = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Date so many days after 1970-01-01, as year, month and day.
///
/// Years are counted from March, so that the leap day is the last of its year; 400 of them always
/// have the same number of days.
fn civil_date(days: u64) -> (u64, u64, u64) {
    const DAYS_BEFORE_1970: u64 = 719_468;
    const DAYS_PER_ERA: u64 = 146_097;
    let days = days + DAYS_BEFORE_1970;
    let era = days / DAYS_PER_ERA;
    let of_era = days % DAYS_PER_ERA;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_iso_8601() {
        for (millis, expect) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_785_196_800_001, "2026-07-28T00:00:00.001Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            let time = UNIX_EPOCH + Duration::from_millis(millis);
            assert_eq!(timestamp(time), expect);
        }
    }
}
