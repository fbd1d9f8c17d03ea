use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput};

use super::format::{DocumentError, line_ending, with_endings_of};
use super::node::{Node, Value};

/// Maximum depth of lists and mappings.
const MAX_DEPTH: usize = 64;

/// Reads one document of YAML without anchors, aliases and tags.
pub(super) fn parse(text: &str) -> Result<Node, DocumentError> {
    let mut reader = Reader::new(text);
    let root = loop {
        match reader.next()? {
            (Event::StreamStart | Event::DocumentStart(_), _) => {}
            (Event::StreamEnd, _) => return Ok(Node::new(Value::Object(Vec::new()))),
            (event, span) => break reader.node(event, span, 0)?,
        }
    };
    match [reader.next()?.0, reader.next()?.0] {
        [Event::DocumentEnd, Event::StreamEnd] => {}
        _ => return Err(DocumentError::new("it has more than one document")),
    }
    match root.value {
        Value::Null => Ok(Node::new(Value::Object(Vec::new()))),
        _ => Ok(root),
    }
}

/// Adds a member before the first one of the mapping at `path`, which has one element, or a new mapping at the end.
pub(super) fn insert(
    text: &str,
    path: &[String],
    name: &str,
    entry: &Node,
) -> Result<String, DocumentError> {
    let [parent] = path else {
        return Err(DocumentError::new(
            "only mappings of the first level can be edited",
        ));
    };
    let root = parse(text)?;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let first = match root.get(parent).map(|node| (node.line, &node.value)) {
        None => None,
        Some((_, Value::Object(members))) => members.first().map(|(_, member)| member.line),
        // The new member is the line after the key.
        Some((line, Value::Null)) => Some(line + 1),
        Some((line, _)) => {
            return Err(DocumentError::at(
                line,
                format!("`{parent}` is not a mapping with members"),
            ));
        }
    };
    let Some(first) = first else {
        if let Some(node) = root.get(parent) {
            return Err(DocumentError::at(node.line, format!("`{parent}` is empty")));
        }
        let mut block = format!("{parent}:\n  {name}:\n");
        write_members(&mut block, 4, entry);
        let gap = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        return Ok(format!(
            "{text}{}",
            with_endings_of(text, &format!("{gap}{block}"))
        ));
    };
    // A line that holds the key of a block mapping begins with it. Others, as in `{a: 1}`, are caught by the
    // check of the result.
    let start = first.saturating_sub(1);
    let is_null = root
        .get(parent)
        .is_some_and(|node| node.value == Value::Null);
    let indent = match lines.get(start) {
        Some(line) if !is_null => indentation(line),
        _ => 2,
    };
    let mut block = format!("{}{name}:\n", " ".repeat(indent));
    write_members(&mut block, indent + 2, entry);
    let (before, after) = lines.split_at_checked(start).unwrap_or((&lines, &[]));
    let mut before = before.concat();
    if !before.is_empty() && !before.ends_with('\n') {
        before.push_str(line_ending(text));
    }
    Ok(format!(
        "{before}{}{}",
        with_endings_of(text, &block),
        after.concat()
    ))
}

/// Removes the lines of a member.
pub(super) fn remove(text: &str, path: &[String], name: &str) -> Result<String, DocumentError> {
    let root = parse(text)?;
    let Some(member) = root.at(path).and_then(|servers| servers.get(name)) else {
        return Ok(text.to_owned());
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let start = member.line.saturating_sub(1);
    let indent = lines.get(start).map_or(0, |line| indentation(line));
    let is_inside = |line: &&&str| line.trim().is_empty() || indentation(line) > indent;
    let body = lines.iter().skip(start + 1).take_while(is_inside);
    let mut end = start + 1 + body.count();
    // Empty lines after the member belong to what follows.
    while end > start + 1
        && lines
            .get(end - 1)
            .is_some_and(|line| line.trim().is_empty())
    {
        end -= 1;
    }
    let mut kept: String = lines.iter().take(start).copied().collect();
    let rest: String = lines.iter().skip(end).copied().collect();
    if let [parent] = path
        && root
            .get(parent)
            .and_then(Node::members)
            .is_some_and(|members| members.len() == 1)
    {
        // A mapping without members would be null: the line of its key goes too.
        let key = lines
            .iter()
            .take(start)
            .rposition(|line| line.starts_with(&format!("{parent}:")));
        let between_is_empty = key.is_some_and(|key| {
            lines
                .iter()
                .take(start)
                .skip(key + 1)
                .all(|line| line.trim().is_empty())
        });
        if let Some(key) = key.filter(|_| between_is_empty) {
            kept = lines.iter().take(key).copied().collect();
        }
    }
    Ok(kept + &rest)
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Writes members as lines; texts and lists in the form of JSON, which YAML has too.
fn write_members(block: &mut String, indent: usize, entry: &Node) {
    let spaces = " ".repeat(indent);
    for (name, member) in entry.members().unwrap_or_default() {
        match &member.value {
            Value::Object(members) if !members.is_empty() => {
                block.push_str(&format!("{spaces}{name}:\n"));
                write_members(block, indent + 2, member);
            }
            _ => block.push_str(&format!("{spaces}{name}: {}\n", member.to_json())),
        }
    }
}

struct Reader<'a>(Parser<'a, StrInput<'a>>);

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self(Parser::new_from_str(text))
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), DocumentError> {
        match self.0.next() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(DocumentError::at(error.marker().line(), error.info())),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    /// Reads the value that begins with `event`.
    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, DocumentError> {
        let line = span.start.line();
        if depth > MAX_DEPTH {
            return Err(DocumentError::at(line, "it is nested too deeply"));
        }
        let value = match event {
            Event::Scalar(text, ScalarStyle::Plain, 0, None) => plain(&text),
            Event::Scalar(text, _, 0, None) => Value::Text(text.into_owned()),
            Event::SequenceStart(0, None) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => break Value::List(items),
                        (event, span) => items.push(self.node(event, span, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(0, None) => Value::Object(self.members(depth)?),
            // A few aliases of aliases would make a short text a huge value.
            _ => {
                return Err(DocumentError::at(
                    line,
                    "anchors, aliases and tags are not supported",
                ));
            }
        };
        Ok(Node { line, value })
    }

    /// Reads the members of a mapping; the line of each is that of its key.
    fn members(&mut self, depth: usize) -> Result<Vec<(String, Node)>, DocumentError> {
        let mut members: Vec<(String, Node)> = Vec::new();
        loop {
            let (name, line) = match self.next()? {
                (Event::MappingEnd, _) => return Ok(members),
                (Event::Scalar(name, _, 0, None), span) => (name.into_owned(), span.start.line()),
                (_, span) => {
                    return Err(DocumentError::at(
                        span.start.line(),
                        "a key is not a plain text",
                    ));
                }
            };
            let (event, span) = self.next()?;
            let mut node = self.node(event, span, depth + 1)?;
            node.line = line;
            members.push((name, node));
        }
    }
}

/// Value of a scalar without quotes, by the core schema of YAML 1.2.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ if text.parse::<serde_json::Number>().is_ok() => Value::Number(text.to_owned()),
        _ => Value::Text(text.to_owned()),
    }
}
