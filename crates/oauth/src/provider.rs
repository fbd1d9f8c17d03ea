use std::fmt;

use serde::Deserialize;

/// An error as an authorization server words it.
///
/// The words are a stranger's: they are shown without control characters and no longer than a few lines.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ProviderError {
    /// The code, such as `invalid_grant`.
    pub error: String,
    /// More words, if there are any.
    pub error_description: Option<String>,
}

/// The longest text of a provider that is shown, in characters.
const MAX_SHOWN: usize = 300;

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.error))?;
        match self.error_description.as_deref() {
            None | Some("") => Ok(()),
            Some(description) => write!(f, " ({})", shown(description)),
        }
    }
}

impl std::error::Error for ProviderError {}

fn shown(text: &str) -> String {
    let visible = |c: char| if is_hidden(c) { ' ' } else { c };
    text.chars().take(MAX_SHOWN).map(visible).collect()
}

/// Whether a terminal would do something other than to show the character, such as to write backward.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::{MAX_SHOWN, ProviderError};

    #[test]
    fn strangers_cannot_write_to_the_terminal() {
        let long = "x".repeat(MAX_SHOWN + 1);
        let cases = [
            ("invalid_grant", None, "invalid_grant".to_owned()),
            ("invalid_grant", Some(""), "invalid_grant".to_owned()),
            (
                "a",
                Some("b\u{1b}[2J\u{202e}c\n"),
                "a (b [2J c )".to_owned(),
            ),
            ("a", Some(&long), format!("a ({})", "x".repeat(MAX_SHOWN))),
        ];
        for (error, description, expected) in cases {
            let error = ProviderError {
                error: error.to_owned(),
                error_description: description.map(str::to_owned),
            };
            assert_eq!(error.to_string(), expected);
        }
    }
}
