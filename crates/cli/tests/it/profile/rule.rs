use std::collections::HashMap;

use serde::Deserialize;

/// A demand on one parameter of a request; without a condition, the parameter must be there.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    pub(super) parameter: String,
    /// It must be missing.
    #[serde(default)]
    absent: bool,
    /// It must be this text.
    equals: Option<String>,
    /// It must hold this word.
    word: Option<String>,
    /// It must not hold this word.
    without: Option<String>,
    /// It must hold this text.
    contains: Option<String>,
    #[serde(default)]
    pub(super) error: String,
    #[serde(default)]
    pub(super) description: String,
}

/// Parameters of a request.
pub(super) type Parameters = HashMap<String, String>;

/// The first rule that is broken.
pub(super) fn broken<'a>(rules: &'a [Rule], given: &Parameters) -> Option<&'a Rule> {
    rules.iter().find(|rule| !rule.holds(given))
}

impl Rule {
    /// A refusal that has no rule in the data.
    pub(super) fn general(error: &str, description: &str) -> Self {
        Self {
            error: error.to_owned(),
            description: description.to_owned(),
            ..Self::default()
        }
    }

    /// A demand that no request meets.
    pub(super) fn never(error: &str, description: &str) -> Self {
        Self {
            parameter: "never".to_owned(),
            ..Self::general(error, description)
        }
    }

    fn holds(&self, given: &Parameters) -> bool {
        let value = given.get(&self.parameter).filter(|it| !it.is_empty());
        let text = value.map(String::as_str).unwrap_or_default();
        let has = |word: &String| text.split(' ').any(|it| it == word);
        if self.absent {
            return value.is_none();
        }
        if let Some(word) = &self.without {
            return !has(word);
        }
        value.is_some()
            && self.equals.as_ref().is_none_or(|it| it == text)
            && self.word.as_ref().is_none_or(has)
            && self.contains.as_ref().is_none_or(|it| text.contains(it))
    }
}
