/// Lines around a change that are shown.
const CONTEXT: usize = 3;

/// The changed lines of a text in the form of `diff -u`, without its head. The edits of this program are in one
/// place, so there is one block.
pub(crate) fn diff(before: &str, after: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = old.iter().zip(&new).take_while(same).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(rest)
        .take_while(same)
        .count();
    let start = head.saturating_sub(CONTEXT);
    let shown_after = tail.min(CONTEXT);
    let changed = |lines: &[&str], sign: &str| {
        let count = lines.len() - head - tail;
        let lines = lines.iter().skip(head).take(count);
        lines
            .map(|line| format!("{sign}{line}\n"))
            .collect::<String>()
    };
    let context = |from: usize, count: usize| {
        let lines = old.iter().skip(from).take(count);
        lines.map(|line| format!(" {line}\n")).collect::<String>()
    };
    format!(
        "@@ line {} @@\n{}{}{}{}",
        start + 1,
        context(start, head - start),
        changed(&old, "-"),
        changed(&new, "+"),
        context(old.len() - tail, shown_after)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_the_lines_around_it() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n";
        for (after, expect) in [
            (
                "1\n2\n3\n4\nx\n6\n7\n8\n",
                "@@ line 2 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n",
            ),
            (
                "0\n1\n2\n3\n4\n5\n6\n7\n8\n",
                "@@ line 1 @@\n+0\n 1\n 2\n 3\n",
            ),
            (
                "1\n2\n3\n4\n5\n6\n7\n8\n8\n",
                "@@ line 6 @@\n 6\n 7\n 8\n+8\n",
            ),
            ("", "@@ line 1 @@\n-1\n-2\n-3\n-4\n-5\n-6\n-7\n-8\n"),
        ] {
            assert_eq!(diff(before, after), expect);
        }
        assert_eq!(diff("", "a\nb\n"), "@@ line 1 @@\n+a\n+b\n");
    }
}
