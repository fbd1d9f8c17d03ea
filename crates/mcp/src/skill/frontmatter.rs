use callgate_wire::RawJson;
use callgate_wire::skill::Frontmatter;
use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};
use serde_json::{Map, Number, Value};

/// Maximum bytes of a frontmatter. Those of published skills have about one kilobyte.
const MAX_BYTES: usize = 64 * 1024;
/// Maximum depth of lists and mappings in a frontmatter.
const MAX_DEPTH: usize = 16;

/// The frontmatter of a `SKILL.md` cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrontmatterError {
    /// There is none.
    #[error("SKILL.md must be UTF-8 text that begins with frontmatter between two lines `---`")]
    Missing,
    /// It is too long.
    #[error("the frontmatter has more than {MAX_BYTES} bytes")]
    TooLong,
    /// It is nested too deeply.
    #[error("the frontmatter is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// It is not YAML.
    #[error("the frontmatter is not YAML: {0}")]
    Yaml(String),
    /// It is YAML that has no equal in JSON, or several.
    #[error("the frontmatter has {0}, which cannot be written as JSON")]
    NotJson(&'static str),
    /// A required field is missing.
    #[error(
        "the frontmatter must have a `name` and a `description`, both texts that are not empty"
    )]
    Fields,
}

/// Reads the frontmatter of a `SKILL.md`.
pub(crate) fn read(skill_md: &[u8]) -> Result<Frontmatter, FrontmatterError> {
    let fields = RawJson::encode(&fields(skill_md)?).expect("a JSON value can be written as JSON");
    Frontmatter::new(fields).ok_or(FrontmatterError::Fields)
}

/// Reads the fields of the frontmatter of a `SKILL.md`.
pub(crate) fn fields(skill_md: &[u8]) -> Result<Value, FrontmatterError> {
    let text = str::from_utf8(skill_md).map_err(|_| FrontmatterError::Missing)?;
    let yaml = block(text).ok_or(FrontmatterError::Missing)?;
    if yaml.len() > MAX_BYTES {
        return Err(FrontmatterError::TooLong);
    }
    let mut reader = Reader(Parser::new_from_str(yaml));
    loop {
        match reader.next()? {
            Event::StreamStart | Event::DocumentStart(_) => {}
            event @ Event::MappingStart(..) => {
                let fields = reader.value(event, 0)?;
                return reader.end().map(|()| fields);
            }
            _ => return Err(FrontmatterError::Fields),
        }
    }
}

/// Text between the first line, which is `---`, and the next such line.
fn block(text: &str) -> Option<&str> {
    let is_fence = |line: &str| line.trim_end() == "---";
    // Some editors put a byte order mark in front.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| is_fence(line))?;
    let rest = text.get(first.len()..)?;
    let mut end = 0;
    for line in lines {
        if is_fence(line) {
            return rest.get(..end);
        }
        end += line.len();
    }
    None
}

struct Reader<'a>(Parser<'a, StrInput<'a>>);

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Event<'a>, FrontmatterError> {
        match self.0.next() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(error)) => Err(FrontmatterError::Yaml(error.to_string())),
            None => Ok(Event::StreamEnd),
        }
    }

    /// Reads the value that begins with `event`.
    fn value(&mut self, event: Event<'a>, depth: usize) -> Result<Value, FrontmatterError> {
        if depth > MAX_DEPTH {
            return Err(FrontmatterError::TooDeep);
        }
        match event {
            Event::Scalar(text, style, 0, None) => match style {
                ScalarStyle::Plain => plain(&text),
                _ => Ok(Value::String(text.into_owned())),
            },
            Event::SequenceStart(0, None) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => return Ok(Value::Array(items)),
                        event => items.push(self.value(event, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(0, None) => {
                let mut members = Map::new();
                loop {
                    let key = match self.next()? {
                        Event::MappingEnd => return Ok(Value::Object(members)),
                        Event::Scalar(key, _, 0, None) => key.into_owned(),
                        _ => return Err(FrontmatterError::NotJson("a key that is no plain text")),
                    };
                    let event = self.next()?;
                    let value = self.value(event, depth + 1)?;
                    if members.insert(key, value).is_some() {
                        return Err(FrontmatterError::NotJson("a key twice"));
                    }
                }
            }
            // A few aliases of aliases would make a short text a huge value, and tags are types
            // that JSON does not have. Frontmatter needs neither.
            _ => Err(FrontmatterError::NotJson("an anchor, an alias or a tag")),
        }
    }

    /// Expects the end of the only document.
    fn end(&mut self) -> Result<(), FrontmatterError> {
        match [self.next()?, self.next()?] {
            [Event::DocumentEnd, Event::StreamEnd] => Ok(()),
            _ => Err(FrontmatterError::NotJson("a second document")),
        }
    }
}

/// Value of a scalar without quotes, by the core schema of YAML 1.2.
fn plain(text: &str) -> Result<Value, FrontmatterError> {
    let unsigned = text.trim_start_matches(['+', '-']);
    let radix = |prefix, radix| u64::from_str_radix(text.strip_prefix(prefix)?, radix).ok();
    match (text, unsigned) {
        ("" | "~" | "null" | "Null" | "NULL", _) => return Ok(Value::Null),
        ("true" | "True" | "TRUE", _) => return Ok(Value::Bool(true)),
        ("false" | "False" | "FALSE", _) => return Ok(Value::Bool(false)),
        (".nan" | ".NaN" | ".NAN", _) | (_, ".inf" | ".Inf" | ".INF") => {
            return Err(FrontmatterError::NotJson("a number that is not finite"));
        }
        _ => {}
    }
    let whole = text.parse::<i64>().map(Number::from).ok();
    let whole = whole.or_else(|| radix("0o", 8).or_else(|| radix("0x", 16)).map(Number::from));
    // The parser of the standard library accepts words such as `infinity` too.
    let is_numeric = unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    let fraction = || {
        text.parse()
            .ok()
            .filter(|_| is_numeric)
            .and_then(Number::from_f64)
    };
    Ok(whole
        .or_else(fraction)
        .map_or_else(|| text.into(), Value::Number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn yaml(yaml: &str) -> Result<Value, FrontmatterError> {
        fields(format!("---\n{yaml}\n---\nbody").as_bytes())
    }

    #[test]
    fn the_fields_become_json() {
        let text = "\
name: pdf-processing
description: >-
  Extract text,
  fill forms
license: 'Apache-2.0' # a comment
metadata:
  version: \"2.1\"
  tags: [a, \"b c\"]
  nested: {x: 1}
allowed-tools:
  - Bash(git:*)
  - Read
enabled: true
empty:
count: 0x10
ratio: -1.5e3
word: infinity
version: 1.2.3
date: 2026-07-28";
        assert_eq!(
            yaml(text),
            Ok(json!({
                "name": "pdf-processing",
                "description": "Extract text, fill forms",
                "license": "Apache-2.0",
                "metadata": {"version": "2.1", "tags": ["a", "b c"], "nested": {"x": 1}},
                "allowed-tools": ["Bash(git:*)", "Read"],
                "enabled": true,
                "empty": null,
                "count": 16,
                "ratio": -1500.0,
                "word": "infinity",
                "version": "1.2.3",
                "date": "2026-07-28"
            }))
        );
    }

    #[test]
    fn frontmatter_stands_between_two_lines_of_dashes() {
        let expect = Ok(json!({"a": "b"}));
        for text in [
            "---\na: b\n---\n",
            "---\na: b\n---",
            "---\r\na: b\r\n---\r\nbody\n---\n",
            "\u{feff}--- \na: b\n---\t\nbody",
        ] {
            assert_eq!(fields(text.as_bytes()), expect, "{text:?}");
        }
        for text in [
            "",
            "a: b\n---\n",
            "---\na: b\n",
            "\n---\na: b\n---\n",
            "----\na: b\n----\n",
        ] {
            let error = fields(text.as_bytes()).unwrap_err();
            assert_eq!(error, FrontmatterError::Missing, "{text:?}");
        }
        assert_eq!(fields(b"---\n\xff\n---\n"), Err(FrontmatterError::Missing));
    }

    #[test]
    fn what_json_cannot_say_is_refused() {
        for (text, expect) in [
            ("a: &x 1\nb: *x", "an anchor, an alias or a tag"),
            ("a: !!str 1", "an anchor, an alias or a tag"),
            ("a: 1\na: 2", "a key twice"),
            ("[a]: 1", "a key that is no plain text"),
            ("a: .inf", "a number that is not finite"),
            ("a: 1\n...\nb: 2", "a second document"),
        ] {
            assert_eq!(yaml(text), Err(FrontmatterError::NotJson(expect)), "{text}");
        }
        for text in ["", "- a", "just text"] {
            assert_eq!(yaml(text), Err(FrontmatterError::Fields), "{text}");
        }
        assert!(matches!(yaml("a: [1"), Err(FrontmatterError::Yaml(_))));
    }

    #[test]
    fn a_frontmatter_is_bounded() {
        let depth = |levels: usize| format!("a: {}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(yaml(&depth(MAX_DEPTH)).is_ok());
        assert_eq!(yaml(&depth(MAX_DEPTH + 1)), Err(FrontmatterError::TooDeep));
        let long = |bytes: usize| format!("a: {}", "x".repeat(bytes));
        assert!(yaml(&long(MAX_BYTES - 4)).is_ok());
        assert_eq!(yaml(&long(MAX_BYTES)), Err(FrontmatterError::TooLong));
    }

    #[test]
    fn a_name_and_a_description_are_required() {
        let read = |fields: &str| read(format!("---\n{fields}\n---\n").as_bytes());
        assert_eq!(read("name: a\ndescription: b").unwrap().name(), "a");
        for fields in [
            "name: a",
            "description: b",
            "name: 7\ndescription: b",
            "name: a\ndescription:",
        ] {
            assert_eq!(read(fields), Err(FrontmatterError::Fields), "{fields}");
        }
    }

    #[test]
    fn a_hostile_frontmatter_of_maximum_length_is_refused() {
        for part in [
            "[",
            "{",
            "[{",
            "- ",
            "? ",
            "- ? ",
            "a: {",
            "a: [",
            "a:\n ",
            "'",
            "\"",
            "&a ",
            "*a ",
            "!a ",
            "%a\n",
            "|\n",
            ": ",
            "a: b\n",
            "a: &a b\n",
            "- a\n",
            "\\",
            "# ",
            "\t",
            "\u{feff}",
        ] {
            let text = part.repeat((MAX_BYTES - 1) / part.len());
            let refused = yaml(&text).unwrap_err();
            assert_ne!(refused, FrontmatterError::TooLong, "{part:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in r#"([-:\[\]{},&*!|>'"%@`#?~ \n\r\ta0.]|\PC){0,60}"#) {
            let _ = yaml(&text);
        }
    }
}
