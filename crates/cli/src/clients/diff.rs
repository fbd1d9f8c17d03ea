use super::document::Format;

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
pub(crate) fn without_values(diff: &str, name: &str, format: Format) -> String {
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
            false => format!("{}\n", without_value(line, format)),
        }
    });
    lines.collect()
}

/// The line up to its first value; without a key all of it is a value, such as an element of a list.
fn without_value(line: &str, format: Format) -> String {
    let (sign, text) = line.split_at(line.len().min(1));
    let body = text.trim_start();
    let (key, value) = body.split_at(key_length(body, format));
    let text_of_value = value.trim_start();
    let is_harmless =
        |text: &str| !text.contains(|c: char| c.is_alphanumeric() || "\"'".contains(c));
    if is_harmless(text_of_value) || (format == Format::Toml && is_table(body)) {
        return line.to_owned();
    }
    let indent = text.strip_suffix(body).unwrap_or_default();
    let space = value.strip_suffix(text_of_value).unwrap_or_default();
    let comma = if value.ends_with(',') { "," } else { "" };
    format!("{sign}{indent}{key}{space}***{comma}")
}

/// Bytes up to the end of the key at the beginning of a line, with the sign after it; 0 if there is none.
///
/// In doubt there is none: secrets have these signs too, as `=` in base64.
fn key_length(line: &str, format: Format) -> usize {
    let found = match format {
        Format::Json | Format::Jsonc => {
            let start = line.trim_start_matches(['{', '[', ' ']);
            quoted_key(start).map(|rest| line.len() - rest.len())
        }
        Format::Yaml => {
            let rest = quoted_key(line).or_else(|| {
                let (key, rest) = line.split_once(':')?;
                is_bare(key).then_some(rest)
            });
            let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with(' '));
            rest.map(|rest| line.len() - rest.len())
        }
        Format::Toml => line.split_once('=').and_then(|(key, value)| {
            let key = key.trim_end();
            let unquoted: String = key.split(['"', '\'']).step_by(2).collect();
            let is_closed = key.matches(['"', '\'']).count() % 2 == 0;
            let value_text = value.trim_start();
            let begins = |c: char| c.is_ascii_digit() || "\"'[{+-".contains(c);
            let words = ["true", "false", "inf", "nan"];
            let is_value = value_text.starts_with(begins)
                || words.iter().any(|word| value_text.starts_with(word));
            let is_key =
                !key.is_empty() && is_closed && (unquoted.is_empty() || is_bare(&unquoted));
            (is_key && is_value).then(|| line.len() - value.len())
        }),
    };
    found.unwrap_or_default()
}

/// The text after a key in quotes and its colon.
fn quoted_key(line: &str) -> Option<&str> {
    let text = line.strip_prefix('"')?;
    let mut is_escaped = false;
    let end = text.find(|c: char| {
        let is_end = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    })?;
    text.get(end + 1..)?.trim_start().strip_prefix(':')
}

fn is_bare(key: &str) -> bool {
    !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || "_-.".contains(c))
}

/// True for the head of a table; lists of one line begin with other characters.
fn is_table(line: &str) -> bool {
    let inner = line
        .strip_prefix('[')
        .and_then(|line| line.strip_suffix(']'));
    inner.is_some_and(|inner| {
        let name = inner.trim_start_matches('[');
        name.starts_with(|c: char| c.is_alphabetic() || c == '_') && !name.contains([',', '='])
    })
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
        insta::assert_snapshot!(without_values(&diff(before, &after), "callgate", Format::Json), @r#"
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
        for (format, line, expect) in [
            (Format::Json, r#"   "a": 1,"#, r#"   "a": ***,"#),
            (Format::Json, r#"   "a\": b" : 1"#, r#"   "a\": b" : ***"#),
            (Format::Json, r#"   "dXNlcjpodW50ZXIyMw==","#, "   ***,"),
            (Format::Json, r#"   "a:b=c""#, "   ***"),
            (Format::Json, r#"   ["--token", "abc"]"#, "   ***"),
            (Format::Json, r#"   [servers.a]"#, "   ***"),
            (Format::Jsonc, " // key: abc", " ***"),
            (Format::Jsonc, " ],", " ],"),
            (Format::Toml, r#" key = "abc""#, " key = ***"),
            (Format::Toml, r#" a."b c".d=1"#, " a.\"b c\".d=***"),
            (Format::Toml, " dXNlcjpodW50ZXIyMw==", " ***"),
            (Format::Toml, r#" "a=b","#, " ***,"),
            (Format::Toml, r#" ["--token", "abc"],"#, " ***,"),
            (Format::Toml, r#" ["--token", "abc"]"#, " ***"),
            (Format::Toml, r#" ["abc"]"#, " ***"),
            (Format::Toml, " [servers.a]", " [servers.a]"),
            (Format::Toml, r#" [servers."a b"]"#, r#" [servers."a b"]"#),
            (Format::Toml, " [[servers]]", " [[servers]]"),
            (Format::Toml, " # abc", " ***"),
            (Format::Yaml, " key: abc", " key: ***"),
            (Format::Yaml, " - abc", " ***"),
            (Format::Yaml, " [servers.a]", " ***"),
            (Format::Yaml, " dXNlcjpodW50ZXIyMw==", " ***"),
            (Format::Yaml, " me:hunter2", " ***"),
            (Format::Yaml, " é: {", " é: {"),
            (Format::Yaml, " servers:", " servers:"),
            (Format::Yaml, "", ""),
        ] {
            assert_eq!(without_value(line, format), expect);
        }
    }

    #[test]
    fn values_of_a_line_that_is_broken_anew_are_masked() {
        let before = "{\"servers\":{\"a\":{\"env\":{\"TOKEN\":\"abc\"}}}}\n";
        let after = "{\"servers\":{\n  \"a\": {\"env\":{\"TOKEN\":\"abc\"}},\n  \"callgate\": {\n    \"command\": \"x\"\n  }\n}}\n";
        insta::assert_snapshot!(without_values(&diff(before, after), "callgate", Format::Json), @r#"
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
