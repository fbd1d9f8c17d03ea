use serde::{Deserialize, Serialize};
use url::Url;

use crate::endpoint::{self, EndpointError};

/// URL of an endpoint that the user names: https, or http to this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EndpointUrl(Url);

/// The URL cannot be that of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{url}` cannot be an endpoint: {reason}")]
#[non_exhaustive]
pub struct EndpointUrlError {
    /// URL.
    pub url: String,
    /// Reason for the refusal.
    pub reason: EndpointError,
}

/// Separator of scopes in requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ScopeSeparator(char);

/// The text is not a separator of scopes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` cannot separate scopes: pass one character such as `,`")]
pub struct ScopeSeparatorError(String);

impl EndpointUrl {
    /// Parses the URL.
    ///
    /// # Errors
    /// The URL is neither https nor on this machine, or has credentials or a fragment.
    pub fn parse(url: &str) -> Result<Self, EndpointUrlError> {
        let parsed = endpoint::parse(url).map_err(|reason| EndpointUrlError {
            url: url.to_owned(),
            reason,
        });
        parsed.map(Self)
    }

    /// URL.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.0
    }
}

impl TryFrom<String> for EndpointUrl {
    type Error = EndpointUrlError;

    fn try_from(text: String) -> Result<Self, EndpointUrlError> {
        Self::parse(&text)
    }
}

impl From<EndpointUrl> for String {
    fn from(endpoint: EndpointUrl) -> Self {
        endpoint.0.into()
    }
}

impl ScopeSeparator {
    /// Parses the separator: one character that is no letter or digit.
    ///
    /// # Errors
    /// The text is another one.
    pub fn parse(text: &str) -> Result<Self, ScopeSeparatorError> {
        let mut characters = text.chars();
        match (characters.next(), characters.next()) {
            (Some(it), None) if it == ' ' || it.is_ascii_punctuation() => Ok(Self(it)),
            _ => Err(ScopeSeparatorError(text.to_owned())),
        }
    }

    /// Separator.
    #[must_use]
    pub(crate) fn character(self) -> char {
        self.0
    }
}

impl TryFrom<String> for ScopeSeparator {
    type Error = ScopeSeparatorError;

    fn try_from(text: String) -> Result<Self, ScopeSeparatorError> {
        Self::parse(&text)
    }
}

impl From<ScopeSeparator> for String {
    fn from(separator: ScopeSeparator) -> Self {
        separator.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::{EndpointUrl, ScopeSeparator};

    #[test]
    fn endpoints_are_safe_to_send_secrets_to() {
        let url = "https://github.com/login/oauth/authorize";
        assert_eq!(String::from(EndpointUrl::parse(url).unwrap()), url);
        let error = EndpointUrl::parse("http://a.example/t").unwrap_err();
        let expected =
            "`http://a.example/t` cannot be an endpoint: it is neither https nor on this machine";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn scopes_are_separated_by_one_character() {
        for text in [",", " ", ";", "+"] {
            assert_eq!(String::from(ScopeSeparator::parse(text).unwrap()), text);
        }
        for text in ["", ",,", "a", "\n", "\u{e9}"] {
            assert!(ScopeSeparator::parse(text).is_err(), "{text}");
        }
    }
}
