//! The keys and values of a text against the table of keys.

use std::collections::{BTreeSet, HashSet};

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;

use super::mistake::Mistake;
use super::shape::{Effect, Key, MAX_MILLISECONDS, Shape};
use super::text::{line_of, raw};
use crate::suggestion::closest;
use crate::visible::cut;

/// Keys that have no effect.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Unused {
    /// Keys of other clients.
    pub(super) foreign: BTreeSet<String>,
    /// Keys of later versions, with those that lead to them.
    pub(super) later: BTreeSet<String>,
    /// Keys of programs at servers that are a URL.
    pub(super) beside_url: BTreeSet<String>,
    /// Keys of URLs at servers that are programs.
    pub(super) beside_command: BTreeSet<String>,
}

/// Checks `value`, which is at `key` of `text`, for keys that have no effect and for mistakes.
pub(super) fn check(
    text: &str,
    value: &Value<'_>,
    key: &str,
    shape: &Shape,
) -> (Unused, Vec<Mistake>) {
    let mut checker = Checker {
        text,
        mistakes: Vec::new(),
        unused: Unused::default(),
    };
    checker.value(value, key, shape);
    (checker.unused, checker.mistakes)
}

/// Maximum characters of a word in a mistake.
const MAX_WORD: usize = 40;

/// Maximum number of mistakes that are reported at once.
pub(super) const MAX_MISTAKES: usize = 100;

struct Checker<'t> {
    text: &'t str,
    mistakes: Vec<Mistake>,
    unused: Unused,
}

impl Checker<'_> {
    fn value(&mut self, value: &Value<'_>, key: &str, shape: &Shape) {
        if self.mistakes.len() >= MAX_MISTAKES {
            return;
        }
        match (shape, value) {
            (Shape::List(of), Value::Array(list)) => {
                for (index, element) in list.elements.iter().enumerate() {
                    self.value(element, &format!("{key}[{index}]"), of);
                }
            }
            (Shape::Map(of), Value::Object(object)) => {
                self.no_key_twice(object, key);
                for property in &object.properties {
                    self.value(&property.value, &below(key, property.name.as_str()), of);
                }
            }
            (Shape::Object(keys), Value::Object(object)) => {
                self.no_key_twice(object, key);
                for property in &object.properties {
                    self.property(property, key, keys);
                }
            }
            (Shape::Either(shapes), value) => {
                match shapes.iter().find(|shape| is_kind(value, shape)) {
                    Some(shape) => self.value(value, key, shape),
                    None => self.wrong(value, key, shape),
                }
            }
            (shape, value) if fits(value, shape) => {}
            (shape, value) => self.wrong(value, key, shape),
        }
    }

    fn property(&mut self, property: &ObjectProp<'_>, parent: &str, keys: &[Key]) {
        let name = property.name.as_str();
        let path = below(parent, name);
        let Some(key) = keys.iter().find(|key| key.name == name) else {
            return self.unknown(property, &path, keys);
        };
        match key.effect {
            Effect::Used => {}
            Effect::Foreign => {
                self.unused.foreign.insert(name.to_owned());
            }
            Effect::Later => {
                self.unused.later.insert(path.clone());
            }
        }
        self.value(&property.value, &path, &key.shape);
    }

    fn unknown(&mut self, property: &ObjectProp<'_>, path: &str, keys: &[Key]) {
        let name = property.name.as_str();
        let used = keys.iter().filter(|key| key.effect != Effect::Foreign);
        let names: Vec<&str> = used.map(|key| key.name).collect();
        // Other clients write some keys in other cases, which is more than a few edits.
        let same = names.iter().find(|known| plain(known) == plain(name));
        let hint = match same.copied().or_else(|| closest(name, &names)) {
            Some(close) => format!("did you mean `{close}`?"),
            None => format!("the keys here are {}", names.join(", ")),
        };
        let message = format!("`{path}` is not a key of the configuration");
        self.mistake(&property.name, path, message, Some(hint));
    }

    /// Programs differ in which of two values they take.
    fn no_key_twice(&mut self, object: &Object<'_>, key: &str) {
        let mut seen = HashSet::new();
        for property in &object.properties {
            let name = property.name.as_str();
            if !seen.insert(name) {
                let path = below(key, name);
                let message = format!("`{path}` is there twice");
                let hint = "keep one of the two".to_owned();
                self.mistake(&property.name, &path, message, Some(hint));
            }
        }
    }

    fn wrong(&mut self, value: &Value<'_>, key: &str, shape: &Shape) {
        let subject = match key {
            "" => "the configuration".to_owned(),
            key => format!("`{key}`"),
        };
        let (found, hint) = match (shape, value) {
            // A word out of a few is no secret, unlike other texts.
            (Shape::OneOf(words), Value::StringLit(text)) => {
                let close = closest(&text.value, words);
                let hint = close.map(|close| format!("did you mean `{close}`?"));
                (format!("`{}`", cut(&text.value, MAX_WORD)), hint)
            }
            _ => (in_words(value, shape), None),
        };
        let message = format!("{subject} must be {}; it is {found}", shape.in_words());
        self.mistake(value, key, message, hint);
    }

    fn mistake(&mut self, at: &impl Ranged, key: &str, message: String, hint: Option<String>) {
        if self.mistakes.len() < MAX_MISTAKES {
            self.mistakes.push(Mistake {
                line: line_of(self.text, at),
                key: key.to_owned(),
                message,
                hint,
            });
        }
    }
}

/// The key `name` of the object at `key`.
pub(super) fn below(key: &str, name: &str) -> String {
    match key {
        "" => name.to_owned(),
        key => format!("{key}.{name}"),
    }
}

/// True if the value has the JSON type of the shape, so that its mistakes are those of the shape.
fn is_kind(value: &Value<'_>, shape: &Shape) -> bool {
    match shape {
        Shape::List(_) => matches!(value, Value::Array(_)),
        Shape::Map(_) | Shape::Object(_) => matches!(value, Value::Object(_)),
        shape => fits(value, shape),
    }
}

fn fits(value: &Value<'_>, shape: &Shape) -> bool {
    match shape {
        Shape::Text | Shape::Template => matches!(value, Value::StringLit(_)),
        Shape::Scalar => {
            matches!(value, Value::StringLit(_) | Value::BooleanLit(_)) || number(value).is_some()
        }
        Shape::Bool => matches!(value, Value::BooleanLit(_)),
        Shape::Milliseconds => {
            integer(value).is_some_and(|number| (1..=MAX_MILLISECONDS).contains(&number))
        }
        Shape::Port => integer(value).is_some_and(|number| number <= u64::from(u16::MAX)),
        Shape::Number => number(value)
            .and_then(|number| number.parse::<f64>().ok())
            .is_some_and(|number| number > 0.0),
        Shape::OneOf(words) => match value {
            Value::StringLit(text) => words.contains(&text.value.as_ref()),
            _ => false,
        },
        Shape::Any => raw(value).is_some(),
        Shape::List(_) | Shape::Map(_) | Shape::Object(_) | Shape::Either(_) => false,
    }
}

/// The text of a number, if JSON has it.
fn number<'b>(value: &'b Value<'_>) -> Option<&'b str> {
    match value {
        Value::NumberLit(number) if raw(value).is_some() => Some(number.value),
        _ => None,
    }
}

fn integer(value: &Value<'_>) -> Option<u64> {
    number(value)?.parse().ok()
}

fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '_' | '-'));
    letters.flat_map(char::to_lowercase).collect()
}

/// The value in words. Texts are not shown, since they may be secrets, and neither are numbers in place of texts.
fn in_words(value: &Value<'_>, wanted: &Shape) -> String {
    match value {
        Value::StringLit(_) => "a text".to_owned(),
        Value::NumberLit(number) if wants_number(wanted) => number.value.to_owned(),
        Value::NumberLit(_) => "a number".to_owned(),
        Value::BooleanLit(literal) => literal.value.to_string(),
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::NullKeyword(_) => "null".to_owned(),
    }
}

fn wants_number(shape: &Shape) -> bool {
    match shape {
        Shape::Milliseconds | Shape::Port | Shape::Number => true,
        Shape::Either(shapes) => shapes.iter().any(wants_number),
        _ => false,
    }
}
