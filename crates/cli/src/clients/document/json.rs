use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, ObjectPropName, Value as Ast};
use jsonc_parser::common::Ranged;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use jsonc_parser::{CollectOptions, parse_to_ast};

use super::format::DocumentError;
use super::node::{Node, Value};
use crate::config::parse_options;

/// Reads JSON with comments and trailing commas.
pub(super) fn parse(text: &str) -> Result<Node, DocumentError> {
    let parsed =
        parse_to_ast(text, &CollectOptions::default(), &parse_options()).map_err(mistake)?;
    let lines = Lines::new(text);
    match parsed.value {
        Some(value) => Ok(lines.node(&value)),
        None => Ok(Node::new(Value::Object(Vec::new()))),
    }
}

/// Adds a member as the last one of the object at `path`.
pub(super) fn insert(
    text: &str,
    path: &[String],
    name: &str,
    entry: &Node,
) -> Result<String, DocumentError> {
    let root = CstRootNode::parse(text, &parse_options()).map_err(mistake)?;
    let is_empty = root.value().is_none();
    let Some(mut object) = root.object_value_or_create() else {
        return Err(DocumentError::new("the file does not hold an object"));
    };
    for member in path {
        object = match object.get(member) {
            Some(found)
                if found
                    .value()
                    .is_some_and(|value| value.as_null_keyword().is_some()) =>
            {
                found.object_value_or_set()
            }
            _ => object
                .object_value_or_create(member)
                .ok_or_else(|| DocumentError::new(format!("`{member}` is not an object")))?,
        };
    }
    object.append(name, input(entry));
    let mut edited = root.to_string();
    if is_empty && !edited.ends_with('\n') {
        edited.push('\n');
    }
    Ok(edited)
}

/// Removes a member of the object at `path` with its comma and, if nothing else is in its lines, with these.
///
/// Comments stay, also those that stand beside the member.
pub(super) fn remove(text: &str, path: &[String], name: &str) -> Result<String, DocumentError> {
    let parsed =
        parse_to_ast(text, &CollectOptions::default(), &parse_options()).map_err(mistake)?;
    let mut object = parsed.value.as_ref().and_then(Ast::as_object);
    for member in path {
        object = object.and_then(|object| find(object, member)?.1.value.as_object());
    }
    let Some((object, (index, member))) = object.and_then(|it| Some((it, find(it, name)?))) else {
        return Ok(text.to_owned());
    };
    let (start, end) = (member.start(), member.end());
    let (open, close) = (object.start() + 1, object.end().saturating_sub(1));
    let around = [text.get(open..start), text.get(end..close)];
    if let [Some(before), Some(after)] = around.map(|it| it.map(str::trim))
        && before.is_empty()
        && matches!(after, "" | ",")
    {
        let (head, tail) = (text.get(..open), text.get(close..));
        return Ok([head, tail].into_iter().flatten().collect());
    }
    let next = object.properties.get(index + 1);
    let next = next.map_or(object.end(), Ranged::start);
    let previous = index
        .checked_sub(1)
        .and_then(|index| object.properties.get(index));
    // The last member has the comma before it, unless there is one at the end.
    let comma = comma(text, end, next).or_else(|| comma(text, previous?.end(), start));
    let mut edited = String::with_capacity(text.len());
    let lines = whole_lines(
        text,
        start,
        comma
            .filter(|comma| *comma >= end)
            .map_or(end, |comma| comma + 1),
    );
    for (offset, character) in text.char_indices() {
        let is_cut =
            (start..end).contains(&offset) || comma == Some(offset) || lines.contains(&offset);
        if !is_cut {
            edited.push(character);
        }
    }
    Ok(edited)
}

/// A member of an object and its index; of several with the same name the last.
fn find<'b, 'a>(object: &'b Object<'a>, name: &str) -> Option<(usize, &'b ObjectProp<'a>)> {
    let mut members = object.properties.iter().enumerate().rev();
    members.find(|(_, member)| member.name.as_str() == name)
}

/// Offset of the comma between two members, which may stand among comments.
fn comma(text: &str, from: usize, to: usize) -> Option<usize> {
    let mut offset = from;
    loop {
        let rest = text.get(offset..to)?;
        let skipped = match rest.chars().next()? {
            ',' => return Some(offset),
            '/' if rest.starts_with("//") => rest.find('\n')?,
            '/' if rest.starts_with("/*") => rest.find("*/")? + 2,
            character => character.len_utf8(),
        };
        offset += skipped;
    }
}

/// The lines from `start` to `end` with their ends, if they hold nothing else; else an empty range.
fn whole_lines(text: &str, start: usize, end: usize) -> Range<usize> {
    let before = text.get(..start).unwrap_or_default();
    let after = text.get(end..).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |found| found + 1);
    let line_end = after.find('\n').map(|found| end + found + 1);
    let is_blank =
        |from: usize, to: usize| text.get(from..to).is_some_and(|it| it.trim().is_empty());
    match line_end {
        Some(line_end) if is_blank(line_start, start) && is_blank(end, line_end) => {
            line_start..line_end
        }
        _ => start..start,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "a function for map_err")]
fn mistake(error: jsonc_parser::errors::ParseError) -> DocumentError {
    DocumentError::at(error.line_display(), error.kind().to_string())
}

fn input(node: &Node) -> CstInputValue {
    match &node.value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(text) => CstInputValue::Number(text.clone()),
        Value::Text(text) => CstInputValue::String(text.clone()),
        Value::List(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, value)| (name.clone(), input(value)));
            CstInputValue::Object(members.collect())
        }
    }
}

/// Starts of the lines of a text.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(ends.map(|(index, _)| index).collect())
    }

    fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|end| *end < offset) + 1
    }

    /// The nesting is bounded by the parser.
    fn node(&self, value: &Ast<'_>) -> Node {
        let line = self.at(value.start());
        let value = match value {
            Ast::NullKeyword(_) => Value::Null,
            Ast::BooleanLit(literal) => Value::Bool(literal.value),
            Ast::NumberLit(literal) => Value::Number(literal.value.to_owned()),
            Ast::StringLit(literal) => Value::Text(literal.value.clone().into_owned()),
            Ast::Array(array) => {
                Value::List(array.elements.iter().map(|item| self.node(item)).collect())
            }
            Ast::Object(object) => {
                let members = object.properties.iter().map(|member| {
                    let name = match &member.name {
                        ObjectPropName::String(literal) => literal.value.clone().into_owned(),
                        ObjectPropName::Word(word) => word.value.to_owned(),
                    };
                    let mut node = self.node(&member.value);
                    node.line = self.at(member.start());
                    (name, node)
                });
                Value::Object(members.collect())
            }
        };
        Node { line, value }
    }
}
