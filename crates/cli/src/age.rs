//! Lengths of time for people.

/// A length of time in one unit, such as `5 min`.
pub(crate) fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A time before now, such as `5 min ago`.
pub(crate) fn ago(seconds: u64) -> String {
    match seconds {
        0..5 => "now".to_owned(),
        _ => format!("{} ago", span(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::{ago, span};

    #[test]
    fn times_have_one_unit() {
        let spans = [0, 59, 60, 3_599, 3_600, 86_399, 86_400, 900_000].map(span);
        assert_eq!(
            spans,
            [
                "0 s", "59 s", "1 min", "59 min", "1 h", "23 h", "1 d", "10 d"
            ]
        );
        assert_eq!([ago(4), ago(61)], ["now", "1 min ago"]);
    }
}
