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

/// A diff with masks in place of the values on lines that are not new: the servers around our entry, called `name`,
/// may hold secrets. A line is new if it is of our entry, or if its text was not in the lines that it replaces,
/// however those were broken.
pub(crate) fn without_values(diff: &str, name: &str) -> String {
    let dense = |text: &str| text.split_whitespace().collect::<String>();
    let removed = diff.lines().filter_map(|line| line.strip_prefix('-'));
    let old: String = removed.map(dense).collect();
    // Indentation of the first line of our entry, while its lines are passed.
    let mut own = None;
    let head = format!("\"{name}\":{{");
    let lines = diff.lines().map(|line| {
        let is_new = line.strip_prefix('+').is_some_and(|text| {
            let indent = text.len() - text.trim_start().len();
            let text = dense(text);
            if text == head {
                own = Some(indent);
            } else if own.is_some_and(|own| indent <= own) {
                own = None;
            }
            own.is_some() || !old.contains(text.trim_end_matches(','))
        });
        match is_new || line.starts_with("@@") {
            true => format!("{line}\n"),
            false => format!("{}\n", without_value(line)),
        }
    });
    lines.collect()
}

/// The line up to its first value.
fn without_value(line: &str) -> String {
    let start = line.find([':', '=']).map_or(0, |at| at + 1);
    let (name, value) = line.split_at(start);
    // The sign of the diff and the indentation stay.
    let sign = if start == 0 { 1 } else { 0 };
    let (sign, value) = value.split_at(sign.min(value.len()));
    let text = value.trim_start();
    let indent = value.get(..value.len() - text.len()).unwrap_or_default();
    let is_harmless = !text.contains(|c: char| c.is_alphanumeric() || c == '"' || c == '\'');
    let is_table = start == 0 && text.starts_with('[') && text.ends_with(']');
    match is_harmless || is_table {
        true => line.to_owned(),
        false => {
            let comma = if text.ends_with(',') { "," } else { "" };
            format!("{name}{sign}{indent}***{comma}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_around_a_new_entry_are_masked() {
        let before = "{\n  \"servers\": {\n    \"a\": {\n      \"args\": [\n        \"--token\",\n        \"abc\"\n      ]\n    }\n  }\n}\n";
        let after = before.replace(
            "    }\n  }",
            "    },\n    \"callgate\": {\n      \"command\": \"x\"\n    }\n  }",
        );
        insta::assert_snapshot!(without_values(&diff(before, &after), "callgate"), @r#"
        @@ line 5 @@
                 ***,
                 ***
               ]
        +    },
        +    "callgate": {
        +      "command": "x"
             }
           }
         }
        "#);
        for (line, expect) in [
            ("   \"a\": 1,", "   \"a\": ***,"),
            (" key = \"abc\"", " key = ***"),
            (" [servers.a]", " [servers.a]"),
            (" - abc", " ***"),
            (" # abc", " ***"),
            (" é: {", " é: {"),
            ("", ""),
        ] {
            assert_eq!(without_value(line), expect);
        }
    }

    #[test]
    fn values_of_a_line_that_is_broken_anew_are_masked() {
        let before = "{\"servers\":{\"a\":{\"env\":{\"TOKEN\":\"abc\"}}}}\n";
        let after = "{\"servers\":{\n  \"a\": {\"env\":{\"TOKEN\":\"abc\"}},\n  \"callgate\": {\n    \"command\": \"x\"\n  }\n}}\n";
        insta::assert_snapshot!(without_values(&diff(before, after), "callgate"), @r#"
        @@ line 1 @@
        -{"servers":***
        +{"servers":{
        +  "a": ***,
        +  "callgate": {
        +    "command": "x"
        +  }
        +}}
        "#);
    }

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
