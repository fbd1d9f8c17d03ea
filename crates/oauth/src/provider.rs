use std::fmt;

use serde::Deserialize;

use crate::Secret;

/// Error response of an authorization server.
///
/// The text is untrusted: it is shown without control characters and cut.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ProviderError {
    /// Error code, such as `invalid_grant`.
    pub error: String,
    /// Description, if there is one.
    pub error_description: Option<String>,
}

/// Maximum characters that are shown.
const MAX_SHOWN: usize = 300;

/// Minimum bytes of a secret that is replaced. A shorter one could be part of any word.
const MIN_HIDDEN: usize = 8;

impl ProviderError {
    /// Error code without description.
    pub fn new(error: impl Into<String>) -> Self {
        Self {
            error: error.into(),
            error_description: None,
        }
    }

    /// Returns true if the grant is not valid any more.
    pub(crate) fn is_invalid_grant(&self) -> bool {
        self.error == "invalid_grant"
    }

    /// Returns true if the client is unknown, or may not use this grant.
    pub(crate) fn is_invalid_client(&self) -> bool {
        ["invalid_client", "unauthorized_client"].contains(&self.error.as_str())
    }

    /// Replaces secrets of the request, which some servers repeat.
    ///
    /// Best-effort: a server that encodes them differently is not covered.
    #[must_use]
    pub(crate) fn without<'a>(mut self, secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        for secret in secrets {
            let secret = secret.expose();
            if secret.len() < MIN_HIDDEN {
                continue;
            }
            self.error = self.error.replace(secret, "***");
            let description = self.error_description.take();
            self.error_description = description.map(|text| text.replace(secret, "***"));
        }
        self
    }
}

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

/// Untrusted text as it is shown.
pub(crate) fn shown(text: &str) -> String {
    let visible = |c: char| if is_hidden(c) { ' ' } else { c };
    text.chars().take(MAX_SHOWN).map(visible).collect()
}

/// Returns true for characters that a terminal would not show but obey, such as a change of the
/// writing direction.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
                | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::{MAX_SHOWN, MIN_HIDDEN, ProviderError};
    use crate::Secret;

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

    #[test]
    fn secrets_that_are_repeated_are_hidden() {
        let error = ProviderError {
            error: "invalid_grant".to_owned(),
            error_description: Some("code one-time-code of one-time-code".to_owned()),
        };
        let secrets = [Secret::new("one-time-code"), Secret::new("invalid")];
        assert!(secrets[1].expose().len() < MIN_HIDDEN);
        let shown = error.without(&secrets).to_string();
        assert_eq!(shown, "invalid_grant (code *** of ***)");
    }
}
