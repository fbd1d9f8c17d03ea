/// True for a day that exists, written as in RFC 3339.
pub(super) fn is_date(text: &str) -> bool {
    let Some([year, month, day]) = split(text, '-') else {
        return false;
    };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2))
    else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=last).contains(&day)
}

/// True for a date and a time with its zone, written as in RFC 3339.
pub(super) fn is_date_time(text: &str) -> bool {
    let Some((date, rest)) = text.split_once(['T', 't']) else {
        return false;
    };
    let time = match rest.strip_suffix(['Z', 'z']) {
        Some(time) => Some(time),
        None => rest
            .rsplit_once(['+', '-'])
            .filter(|(_, zone)| is_hours_and_minutes(zone))
            .map(|(time, _)| time),
    };
    is_date(date) && time.is_some_and(is_time)
}

fn is_time(text: &str) -> bool {
    let (time, fraction) = match text.split_once('.') {
        Some((time, fraction)) => (time, Some(fraction)),
        None => (text, None),
    };
    let is_fraction =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((hours_and_minutes, seconds)) = time.rsplit_once(':') else {
        return false;
    };
    // A leap second has the number 60.
    is_hours_and_minutes(hours_and_minutes)
        && digits(seconds, 2).is_some_and(|seconds| seconds <= 60)
        && fraction.is_none_or(is_fraction)
}

fn is_hours_and_minutes(text: &str) -> bool {
    let Some((hours, minutes)) = text.split_once(':') else {
        return false;
    };
    digits(hours, 2).is_some_and(|hours| hours < 24)
        && digits(minutes, 2).is_some_and(|minutes| minutes < 60)
}

/// The number that a text of so many digits means.
fn digits(text: &str, count: usize) -> Option<u32> {
    let is_plain = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

fn split(text: &str, at: char) -> Option<[&str; 3]> {
    let mut parts = text.split(at);
    let split = [parts.next()?, parts.next()?, parts.next()?];
    parts.next().is_none().then_some(split)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_exist_and_are_complete() {
        for (text, expect) in [
            ("2026-07-28", true),
            ("2024-02-29", true),
            ("2100-02-29", false),
            ("2000-02-29", true),
            ("2026-04-31", false),
            ("2026-13-01", false),
            ("2026-00-10", false),
            ("2026-01-00", false),
            ("26-01-01", false),
            ("2026-01-01-01", false),
            ("+026-01-01", false),
        ] {
            assert_eq!(is_date(text), expect, "{text}");
        }
        for (text, expect) in [
            ("2026-07-28T12:00:00Z", true),
            ("2026-07-28t23:59:60.25-08:30", true),
            ("2026-07-28T12:00:00", false),
            ("2026-07-28T24:00:00Z", false),
            ("2026-07-28T12:60:00Z", false),
            ("2026-07-28T12:00:00.Z", false),
            ("2026-07-28T12:00Z", false),
            ("2026-07-28 12:00:00Z", false),
            ("2026-02-30T12:00:00Z", false),
        ] {
            assert_eq!(is_date_time(text), expect, "{text}");
        }
    }
}
