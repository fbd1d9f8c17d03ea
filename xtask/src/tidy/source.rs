/// A Rust file, prepared so that a plain text search finds code and only code.
pub(crate) struct Source {
    /// The text with comments and literals blanked; every line keeps its number.
    pub(crate) code: String,
    /// Number of lines before the `#[cfg(test)]` module at the end.
    pub(crate) shipped_lines: usize,
}

impl Source {
    /// Prepares `text`.
    pub(crate) fn new(text: &str) -> Self {
        let code = blank(text);
        let shipped_lines = test_module_line(&code).unwrap_or(code.lines().count());
        Self {
            code,
            shipped_lines,
        }
    }

    /// The lines of code that are not in the test module, numbered from 1.
    pub(crate) fn shipped(&self) -> impl Iterator<Item = (usize, &str)> {
        numbered(&self.code).take(self.shipped_lines)
    }
}

/// The lines of `text`, numbered from 1.
pub(crate) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line))
}

/// True if `needle` occurs in `line` and is not part of a longer word.
pub(crate) fn has_word(line: &str, needle: &str) -> bool {
    line.match_indices(needle).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line
            .get(at + needle.len()..)
            .and_then(|text| text.chars().next());
        let joins = |edge: Option<char>, outside: Option<char>| {
            edge.is_some_and(is_word) && outside.is_some_and(is_word)
        };
        !joins(needle.chars().next(), before) && !joins(needle.chars().next_back(), after)
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Zero-based line of a `#[cfg(test)]` that is followed by an inline module.
fn test_module_line(code: &str) -> Option<usize> {
    let mut lines = code.lines().enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let next = lines.peek().map_or("", |(_, next)| next);
        if line.trim_end() == "#[cfg(test)]" && next.starts_with("mod ") && next.ends_with('{') {
            return Some(index);
        }
    }
    None
}

/// Replaces comments and the insides of literals by spaces.
fn blank(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (token, hidden) = next_token(rest);
        rest = rest.strip_prefix(token).unwrap_or_default();
        if hidden {
            code.extend(token.chars().map(|c| if c == '\n' { c } else { ' ' }));
        } else {
            code.push_str(token);
        }
    }
    code
}

/// The first token of `text`, which is not empty, and whether it is a comment or literal.
fn next_token(text: &str) -> (&str, bool) {
    let first = text.chars().next().unwrap_or_default();
    let (length, hidden) = match first {
        '/' if text.starts_with("//") => (text.find('\n').unwrap_or(text.len()), true),
        '/' if text.starts_with("/*") => (block_comment(text), true),
        '"' => (string(text), true),
        '\'' => character(text).map_or((1, false), |length| (length, true)),
        c if is_word(c) => word(text),
        c => (c.len_utf8(), false),
    };
    (text.get(..length).unwrap_or(text), hidden)
}

/// The length of a block comment, which may hold others.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of a string literal that starts with its quote.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character literal, unless `text` starts with a lifetime.
fn character(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('\'')?;
    let first = inside.chars().next()?;
    if first == '\\' {
        let end = inside.char_indices().skip(2).find(|(_, c)| *c == '\'')?.0;
        return Some(1 + end + 1);
    }
    let length = first.len_utf8();
    inside
        .get(length..)?
        .starts_with('\'')
        .then_some(1 + length + 1)
}

/// The length of a word, or of the prefixed literal that it begins.
fn word(text: &str) -> (usize, bool) {
    let length = text.find(|c| !is_word(c)).unwrap_or(text.len());
    let (word, rest) = text.split_at(length);
    match word {
        "b" | "c" if rest.starts_with('"') => (length + string(rest), true),
        "b" if rest.starts_with('\'') => (length + character(rest).unwrap_or(1), true),
        "r" | "br" | "cr" => raw_string(rest).map_or((length, false), |raw| (length + raw, true)),
        _ => (length, false),
    }
}

/// The length of a raw string without its prefix, unless this is a raw identifier.
fn raw_string(text: &str) -> Option<usize> {
    let hashes = text.find(|c| c != '#')?;
    let inside = text.get(hashes..)?.strip_prefix('"')?;
    let closing = format!("\"{}", "#".repeat(hashes));
    let end = inside
        .find(&closing)
        .map_or(inside.len(), |at| at + closing.len());
    Some(hashes + 1 + end)
}

#[cfg(test)]
mod tests {
    use super::{Source, has_word};

    #[test]
    fn blanks_comments_and_literals_only() {
        let cases = [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ d */ e", "a                   e"),
            (r#"f("x \" y", 1)"#, "f(        , 1)"),
            (r##"r#"a " b"# c"##, "           c"),
            (r#"b"x" c"y" br"z""#, "               "),
            ("r#type x", "r#type x"),
            (
                r"'a' '\'' '\u{41}' b'x' &'a str",
                "                       &'a str",
            ),
            ("\"a\nb\" c", "  \n   c"),
        ];
        for (text, expected) in cases {
            assert_eq!(Source::new(text).code, expected, "{text}");
        }
    }

    #[test]
    fn the_test_module_is_not_shipped() {
        let source = Source::new("fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n");
        assert_eq!(
            source.shipped().collect::<Vec<_>>(),
            [(1, "fn a() {}"), (2, "")]
        );
    }

    #[test]
    fn a_test_only_item_does_not_hide_the_rest() {
        let source = Source::new("#[cfg(test)]\nfn a() {}\nfn b() {}\n");
        assert_eq!(source.shipped_lines, 3);
    }

    #[test]
    fn words_end_at_punctuation() {
        let cases = [
            ("println!(\"\")", "println!", true),
            ("eprintln!(\"\")", "println!", false),
            ("std::env::var", "std::env", true),
            ("std::environment", "std::env", false),
            ("initialized", "initialize", false),
            ("\"initialize\"", "initialize", true),
        ];
        for (line, needle, expected) in cases {
            assert_eq!(has_word(line, needle), expected, "{needle} in {line}");
        }
    }
}
