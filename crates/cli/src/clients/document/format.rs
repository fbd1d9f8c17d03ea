use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::node::Node;
use super::{json, toml, yaml};

/// Format of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    /// JSON; comments and trailing commas are read all the same.
    Json,
    /// JSON with comments.
    Jsonc,
    Toml,
    Yaml,
}

/// A text that is not of its format, or that cannot be edited safely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentError {
    /// Line, from 1, if the error has a place.
    pub(crate) line: Option<usize>,
    pub(crate) message: String,
}

/// Byte order mark, which some editors on Windows write.
const MARK: char = '\u{feff}';

impl Format {
    /// The name of the format.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Jsonc => "JSONC",
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
        }
    }

    /// Reads a text; an empty one is an empty object.
    pub(crate) fn parse(self, text: &str) -> Result<Node, DocumentError> {
        let text = text.strip_prefix(MARK).unwrap_or(text);
        match self {
            Self::Json | Self::Jsonc => json::parse(text),
            Self::Toml => toml::parse(text),
            Self::Yaml => yaml::parse(text),
        }
    }

    /// Adds the member `name` to the object at `path`, which is made if it is not there.
    ///
    /// # Errors
    /// The text is not of the format, has the member already, or cannot be edited without a change of
    /// anything else, which is checked in the result.
    pub(crate) fn insert(
        self,
        text: &str,
        path: &[String],
        name: &str,
        entry: &Node,
    ) -> Result<String, DocumentError> {
        let before = self.parse(text)?;
        if before
            .at(path)
            .and_then(|servers| servers.get(name))
            .is_some()
        {
            return Err(DocumentError::new(format!("there is a `{name}` already")));
        }
        let edited = on_body(text, |body| match self {
            Self::Json | Self::Jsonc => json::insert(body, path, name, entry),
            Self::Toml => Ok(toml::insert(body, path, name, entry)),
            Self::Yaml => yaml::insert(body, path, name, entry),
        })?;
        let mut expected = before.to_json();
        let members = object_at(&mut expected, path);
        members.and_then(|members| members.insert(name.to_owned(), entry.to_json()));
        self.checked(edited, &expected)
    }

    /// Removes the member `name` of the object at `path`; `None` if it is not there.
    ///
    /// # Errors
    /// As for [`Self::insert`].
    pub(crate) fn remove(
        self,
        text: &str,
        path: &[String],
        name: &str,
    ) -> Result<Option<String>, DocumentError> {
        let before = self.parse(text)?;
        if before
            .at(path)
            .and_then(|servers| servers.get(name))
            .is_none()
        {
            return Ok(None);
        }
        let edited = on_body(text, |body| match self {
            Self::Json | Self::Jsonc => json::remove(body, path, name),
            Self::Toml => toml::remove(body, path, name),
            Self::Yaml => yaml::remove(body, path, name),
        })?;
        let mut expected = before.to_json();
        object_at(&mut expected, path).and_then(|members| members.remove(name));
        let after = self.parse(&edited)?.to_json();
        // An object that has lost its last member may be gone too: TOML has no empty tables that are implied.
        prune(&mut expected, path);
        let mut pruned = after;
        prune(&mut pruned, path);
        match pruned == expected {
            true => Ok(Some(edited)),
            false => Err(DocumentError::unsafe_edit()),
        }
    }

    fn checked(self, edited: String, expected: &Json) -> Result<String, DocumentError> {
        let after = self
            .parse(&edited)
            .map_err(|_| DocumentError::unsafe_edit())?;
        match after.to_json() == *expected {
            true => Ok(edited),
            false => Err(DocumentError::unsafe_edit()),
        }
    }

    /// The lines that a user can paste instead of an edit.
    pub(crate) fn snippet(self, path: &[String], name: &str, entry: &Node) -> String {
        match self {
            Self::Json | Self::Jsonc => json::insert("{}\n", path, name, entry).unwrap_or_default(),
            Self::Toml => toml::insert("", path, name, entry),
            Self::Yaml => yaml::insert("", path, name, entry).unwrap_or_default(),
        }
    }
}

impl DocumentError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            line: None,
            message: message.into(),
        }
    }

    pub(super) fn at(line: usize, message: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            message: message.into(),
        }
    }

    fn unsafe_edit() -> Self {
        Self::new("it is written in a way that cannot be edited without a risk for the rest")
    }
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Ending of the lines of a text.
pub(super) fn line_ending(text: &str) -> &'static str {
    match text.contains("\r\n") {
        true => "\r\n",
        false => "\n",
    }
}

/// The text with the line endings of another one.
pub(super) fn with_endings_of(other: &str, text: &str) -> String {
    let ending = line_ending(other);
    let text: Cow<'_, str> = match ending {
        "\n" => text.into(),
        _ => text.replace('\n', ending).into(),
    };
    text.into_owned()
}

/// Edits the text behind the byte order mark, if it has one.
fn on_body(
    text: &str,
    edit: impl FnOnce(&str) -> Result<String, DocumentError>,
) -> Result<String, DocumentError> {
    match text.strip_prefix(MARK) {
        Some(body) => edit(body).map(|body| format!("{MARK}{body}")),
        None => edit(text),
    }
}

/// The object at `path`, made if it is not there; `None` if something else is in its place.
fn object_at<'v>(value: &'v mut Json, path: &[String]) -> Option<&'v mut Map<String, Json>> {
    let mut members = value.as_object_mut()?;
    for name in path {
        let member = members
            .entry(name.as_str())
            .or_insert_with(|| Json::Object(Map::new()));
        if member.is_null() {
            *member = Json::Object(Map::new());
        }
        members = member.as_object_mut()?;
    }
    Some(members)
}

/// Removes the empty objects at the end of a path.
fn prune(value: &mut Json, path: &[String]) {
    let Some((last, rest)) = path.split_last() else {
        return;
    };
    if let Some(members) = object_at(value, rest) {
        let is_empty =
            |member: &Json| member.is_null() || member.as_object().is_some_and(Map::is_empty);
        if members.get(last).is_some_and(is_empty) {
            members.remove(last);
        }
    }
    prune(value, rest);
}
