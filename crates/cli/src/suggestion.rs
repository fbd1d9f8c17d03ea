//! Suggestions for names that are typed almost right.

/// The name that differs from `name` by the fewest edits, if it is not many.
pub(crate) fn closest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let limit = 1 + name.len() / 4;
    let distances = names
        .iter()
        // The distance is at least the difference in length, and names may be very long.
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= 4 * limit)
        .map(|candidate| (edits(name, candidate), *candidate));
    let (distance, candidate) = distances.min()?;
    (distance <= limit).then_some(candidate)
}

/// Edit distance: number of letters to add, remove or change to get from `a` to `b`.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(i + 1);
        for ((y, diagonal), above) in b.iter().zip(&row).zip(row.iter().skip(1)) {
            let left = next.last().copied().unwrap_or_default();
            next.push(
                (diagonal + usize::from(x != *y))
                    .min(above + 1)
                    .min(left + 1),
            );
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_miss_is_suggested() {
        let names = ["workspace_read", "workspace_write", "workspace_list"];
        assert_eq!(closest("workspace_raed", &names), Some("workspace_read"));
        assert_eq!(closest("workspacelist", &names), Some("workspace_list"));
        assert_eq!(closest("delete_everything", &names), None);
    }

    #[test]
    fn edits_are_counted() {
        for (a, b, count) in [
            ("", "", 0),
            ("abc", "", 3),
            ("", "ab", 2),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(edits(a, b), count, "{a} {b}");
        }
    }
}
