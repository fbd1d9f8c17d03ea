/// True if `output` holds the lines of `expected`, one after the other.
///
/// A line `...` stands for any number of lines, and `...` within a line for any text.
pub(super) fn appears(expected: &str, output: &str) -> bool {
    let mut pattern = vec!["..."];
    pattern.extend(expected.lines().map(str::trim_end));
    pattern.push("...");
    let output: Vec<&str> = output.lines().map(str::trim_end).collect();
    lines_match(&pattern, &output)
}

fn lines_match(pattern: &[&str], output: &[&str]) -> bool {
    match (pattern.split_first(), output.split_first()) {
        (None, _) => output.is_empty(),
        (Some((&"...", rest)), None) => lines_match(rest, output),
        (Some((&"...", rest)), Some((_, left))) => {
            lines_match(rest, output) || lines_match(pattern, left)
        }
        (Some(_), None) => false,
        (Some((line, rest)), Some((first, left))) => {
            line_matches(line, first) && lines_match(rest, left)
        }
    }
}

fn line_matches(pattern: &str, line: &str) -> bool {
    let Some((head, tail)) = pattern.split_once("...") else {
        return pattern == line;
    };
    let Some(rest) = line.strip_prefix(head) else {
        return false;
    };
    let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    ends.filter_map(|at| rest.get(at..))
        .any(|rest| line_matches(tail, rest))
}

#[cfg(test)]
mod tests {
    use super::appears;

    #[test]
    fn lines_appear_in_order() {
        let cases = [
            ("b\nc\n", "a\nb\nc\nd\n", true),
            ("b\nd\n", "a\nb\nc\nd\n", false),
            ("b\n...\nd\n", "a\nb\nc\nd\n", true),
            ("b\n...\nc\n", "b\nc\n", true),
            ("c\nb\n", "b\nc\n", false),
            ("token: ...\n", "token: 4f2a\n", true),
            ("a ... b ... c\n", "a 1 b 2 b 3 c\n", true),
            ("a ... b\n", "a 1 b 2\n", false),
            ("a\n", "", false),
            ("", "", true),
        ];
        for (expected, output, holds) in cases {
            assert_eq!(
                appears(expected, output),
                holds,
                "{expected:?} in {output:?}"
            );
        }
    }
}
