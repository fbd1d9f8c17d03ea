use toml_edit::{Document, DocumentMut, Item, TableLike, Value as Toml};

use super::format::{DocumentError, with_endings_of};
use super::node::{Node, Value};

/// Reads TOML.
pub(super) fn parse(text: &str) -> Result<Node, DocumentError> {
    let document = Document::parse(text).map_err(|error| mistake(text, &error))?;
    Ok(table(text, 1, document.as_table()))
}

/// Adds a table at the end of the text, where it cannot change the meaning of anything else.
pub(super) fn insert(text: &str, path: &[String], name: &str, entry: &Node) -> String {
    let header: Vec<_> = path.iter().map(String::as_str).chain([name]).collect();
    let mut block = String::new();
    write_table(&mut block, &header, entry);
    let block = with_endings_of(text, &block);
    let ending = super::format::line_ending(text);
    let gap = match text {
        "" => String::new(),
        text if text.ends_with('\n') => ending.to_owned(),
        _ => ending.repeat(2),
    };
    format!("{text}{gap}{block}")
}

/// Removes a table with all tables in it.
pub(super) fn remove(text: &str, path: &[String], name: &str) -> Result<String, DocumentError> {
    let root = parse(text)?;
    let line = root
        .at(path)
        .and_then(|servers| servers.get(name))
        .map_or(0, |table| table.line);
    match without_lines(text, line, path, name) {
        Some(edited) => Ok(edited),
        None => without_member(text, path, name),
    }
}

/// The text without the lines of a table that has a header; the form in which we write it.
fn without_lines(text: &str, line: usize, path: &[String], name: &str) -> Option<String> {
    let header: Vec<_> = path
        .iter()
        .map(|name| key(name))
        .chain([key(name)])
        .collect();
    let (own, inner) = (
        format!("[{}]", header.join(".")),
        format!("[{}.", header.join(".")),
    );
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut start = line.checked_sub(1)?;
    lines
        .get(start)
        .filter(|line| line.trim().starts_with(&own))?;
    let is_next = |line: &&&str| line.starts_with('[') && !line.starts_with(&inner);
    let body = lines
        .iter()
        .skip(start + 1)
        .take_while(|line| !is_next(line));
    let mut end = start + 1 + body.count();
    // Comments and empty lines before the next table belong to it.
    let is_between = |line: &&str| line.trim().is_empty() || line.trim().starts_with('#');
    while end > start + 1 && lines.get(end - 1).is_some_and(is_between) {
        end -= 1;
    }
    // The empty line before our table came with it.
    if start > 0
        && lines
            .get(start - 1)
            .is_some_and(|line| line.trim().is_empty())
    {
        start -= 1;
    }
    let kept = lines.iter().take(start).chain(lines.iter().skip(end));
    Some(kept.copied().collect())
}

/// The same for a table in any other form. Line ends become those of the first line.
fn without_member(text: &str, path: &[String], name: &str) -> Result<String, DocumentError> {
    let mut document: DocumentMut = text.parse().map_err(|error| mistake(text, &error))?;
    let mut parent: Option<&mut dyn TableLike> = Some(document.as_table_mut());
    for member in path {
        parent = parent.and_then(|table| table.get_mut(member)?.as_table_like_mut());
    }
    if let Some(table) = parent {
        table.remove(name);
    }
    Ok(with_endings_of(
        text,
        &document.to_string().replace("\r\n", "\n"),
    ))
}

fn mistake(text: &str, error: &toml_edit::TomlError) -> DocumentError {
    let message = error
        .message()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned();
    match error.span() {
        Some(span) => DocumentError::at(line(text, span.start), message),
        None => DocumentError::new(message),
    }
}

fn line(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    before.filter(|byte| **byte == b'\n').count() + 1
}

fn table(text: &str, line: usize, table: &dyn TableLike) -> Node {
    let members = table
        .iter()
        .map(|(name, member)| (name.to_owned(), item(text, member)));
    Node {
        line,
        value: Value::Object(members.collect()),
    }
}

fn item(text: &str, member: &Item) -> Node {
    let line = member.span().map_or(0, |span| line(text, span.start));
    match member {
        Item::None => Node {
            line,
            value: Value::Null,
        },
        Item::Value(member) => value(text, member),
        Item::Table(member) => table(text, line, member),
        Item::ArrayOfTables(tables) => Node {
            line,
            value: Value::List(
                tables
                    .iter()
                    .map(|member| table(text, line, member))
                    .collect(),
            ),
        },
    }
}

/// The nesting is bounded by the parser.
fn value(text: &str, member: &Toml) -> Node {
    let line = member.span().map_or(0, |span| line(text, span.start));
    let value = match member {
        Toml::String(literal) => Value::Text(literal.value().clone()),
        Toml::Integer(literal) => Value::Number(literal.value().to_string()),
        Toml::Float(literal) => Value::Number(literal.value().to_string()),
        Toml::Boolean(literal) => Value::Bool(*literal.value()),
        Toml::Datetime(literal) => Value::Number(literal.value().to_string()),
        Toml::Array(items) => Value::List(items.iter().map(|item| value(text, item)).collect()),
        Toml::InlineTable(members) => return table(text, line, members),
    };
    Node { line, value }
}

/// Writes a table, then the tables in it.
fn write_table(block: &mut String, path: &[&str], entry: &Node) {
    let header: Vec<_> = path.iter().map(|name| key(name)).collect();
    block.push_str(&format!("[{}]\n", header.join(".")));
    let members = entry.members().unwrap_or_default();
    let is_table = |node: &&(String, Node)| node.1.members().is_some();
    for (name, member) in members.iter().filter(|member| !is_table(member)) {
        block.push_str(&format!("{} = {}\n", key(name), literal(member)));
    }
    for (name, member) in members.iter().filter(is_table) {
        block.push('\n');
        let path: Vec<_> = path.iter().copied().chain([name.as_str()]).collect();
        write_table(block, &path, member);
    }
}

fn key(name: &str) -> String {
    toml_edit::Key::new(name).to_string()
}

fn literal(node: &Node) -> String {
    match &node.value {
        Value::Null => "\"\"".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(text) => text.clone(),
        Value::Text(text) => Toml::from(text.as_str()).to_string(),
        Value::List(items) => {
            let items: Vec<_> = items.iter().map(literal).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, member)| format!("{} = {}", key(name), literal(member)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
    }
}
