use std::time::Duration;

use super::super::document::{Node, Value};
use super::super::table::TimeUnit;
use super::variables::{self, Origin};
use crate::config::template::Template;

/// Longest time limit that is believed; clients write larger numbers for "never".
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// Members of an entry, with those that have been read.
pub(super) struct Members<'a> {
    node: &'a Node,
    origin: Origin<'a>,
    read: Vec<&'static str>,
    notes: Vec<String>,
}

impl<'a> Members<'a> {
    pub(super) fn new(node: &'a Node, origin: Origin<'a>) -> Result<Self, String> {
        match node.members() {
            Some(_) => Ok(Self {
                node,
                origin,
                read: Vec::new(),
                notes: Vec::new(),
            }),
            None => Err("the entry is not an object".to_owned()),
        }
    }

    /// The members of a member that is an object.
    pub(super) fn inner(&mut self, name: &'static str) -> Result<Option<Self>, String> {
        let origin = self.origin;
        let node = self.node(name);
        node.map(|node| Self::new(node, origin).map_err(|_| wrong(name, "an object")))
            .transpose()
    }

    /// A member that is there and not null.
    pub(super) fn node(&mut self, name: &'static str) -> Option<&'a Node> {
        self.read.push(name);
        self.node.get(name).filter(|node| node.value != Value::Null)
    }

    /// True if a member is there, whether it is read or not.
    pub(super) fn has(&self, name: &str) -> bool {
        self.node.get(name).is_some()
    }

    /// Marks members as read that mean nothing here or are told of otherwise.
    pub(super) fn ignore(&mut self, names: &[&'static str]) {
        self.read.extend(names);
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// A text that has no variables.
    pub(super) fn text(&mut self, name: &'static str) -> Result<Option<&'a str>, String> {
        let node = self.node(name);
        node.map(|node| node.as_text().ok_or_else(|| wrong(name, "a text")))
            .transpose()
    }

    pub(super) fn template(&mut self, name: &'static str) -> Result<Option<Template>, String> {
        let text = self.text(name)?;
        text.map(|text| self.translate(name, text)).transpose()
    }

    /// A list of texts; a missing one is empty.
    pub(super) fn templates(&mut self, name: &'static str) -> Result<Vec<Template>, String> {
        let texts = self.texts(name)?.unwrap_or_default();
        texts
            .iter()
            .map(|text| self.translate(name, text))
            .collect()
    }

    /// An object of texts in the order of the file; numbers and truth values count as texts.
    pub(super) fn map(&mut self, name: &'static str) -> Result<Vec<(String, Template)>, String> {
        let Some(node) = self.node(name) else {
            return Ok(Vec::new());
        };
        let members = node
            .members()
            .ok_or_else(|| wrong(name, "an object of texts"))?;
        let mut map = Vec::with_capacity(members.len());
        for (key, value) in members {
            let text = match &value.value {
                Value::Text(text) => text.clone(),
                Value::Number(text) => text.clone(),
                Value::Bool(value) => value.to_string(),
                // A variable that is null is not set.
                Value::Null => continue,
                _ => return Err(wrong(name, "an object of texts")),
            };
            map.push((key.clone(), self.translate(name, &text)?));
        }
        Ok(map)
    }

    pub(super) fn texts(&mut self, name: &'static str) -> Result<Option<Vec<String>>, String> {
        let Some(node) = self.node(name) else {
            return Ok(None);
        };
        let Value::List(items) = &node.value else {
            return Err(wrong(name, "a list of texts"));
        };
        let texts = items.iter().map(|item| match &item.value {
            Value::Text(text) | Value::Number(text) => Ok(text.clone()),
            _ => Err(wrong(name, "a list of texts")),
        });
        texts.collect::<Result<_, _>>().map(Some)
    }

    pub(super) fn bool(&mut self, name: &'static str) -> Result<Option<bool>, String> {
        let node = self.node(name);
        node.map(|node| match node.value {
            Value::Bool(value) => Ok(value),
            _ => Err(wrong(name, "true or false")),
        })
        .transpose()
    }

    /// A time limit; one that cannot be used is told of and left out.
    pub(super) fn duration(
        &mut self,
        name: &'static str,
        unit: TimeUnit,
    ) -> Result<Option<Duration>, String> {
        let Some(node) = self.node(name) else {
            return Ok(None);
        };
        let number = match &node.value {
            Value::Number(text) => text.parse::<f64>().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| wrong(name, "a number"))?;
        let seconds = match unit {
            TimeUnit::Seconds => number,
            TimeUnit::Milliseconds => number / 1000.0,
        };
        let duration = Duration::try_from_secs_f64(seconds).ok();
        let duration = duration.filter(|it| !it.is_zero() && *it <= MAX_TIMEOUT);
        if duration.is_none() {
            self.note(format!(
                "`{name}` is not a time limit that can be used, and is left out"
            ));
        }
        // Whole milliseconds, as our files have them.
        Ok(duration.map(|it| Duration::from_millis(u64::try_from(it.as_millis()).unwrap_or(0))))
    }

    /// Notes so far, and one about the members that were not read.
    pub(super) fn notes(mut self) -> Vec<String> {
        let members = self.node.members().unwrap_or_default().iter();
        let unread = members.filter(|(name, _)| !self.read.contains(&name.as_str()));
        let mut unread: Vec<_> = unread.map(|(name, _)| format!("`{name}`")).collect();
        unread.dedup();
        if !unread.is_empty() {
            self.notes.push(format!("left out: {}", unread.join(", ")));
        }
        self.notes
    }

    /// Adds the notes of an inner object to ours.
    pub(super) fn adopt(&mut self, name: &str, inner: Self) {
        let notes = inner
            .notes()
            .into_iter()
            .map(|note| format!("`{name}`: {note}"));
        self.notes.extend(notes);
    }

    pub(super) fn translate(&self, name: &str, text: &str) -> Result<Template, String> {
        variables::template(self.origin, text).map_err(|problem| format!("`{name}` {problem}"))
    }
}

pub(super) fn wrong(name: &str, expected: &str) -> String {
    format!("`{name}` is not {expected}")
}
