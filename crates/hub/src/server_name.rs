use std::fmt;
use std::sync::Arc;

/// Name of a server in the configuration; it is the first part of the names of its tools.
///
/// ```
/// # use callgate_hub::ServerName;
/// assert_eq!(ServerName::new("git hub").unwrap().as_str(), "git hub");
/// assert!(ServerName::new("").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName(Arc<str>);

/// A name that no server can have.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerNameError {
    /// The name has no characters.
    #[error("the name of a server must not be empty")]
    Empty,
    /// The name is too long.
    #[error("the name of a server has {0} bytes, which is more than {MAX_BYTES}")]
    TooLong(usize),
    /// The name has a character that terminals and logs cannot show.
    #[error("the name of a server has the control character {0:?}")]
    Control(char),
}

/// Maximum length of a name in bytes.
const MAX_BYTES: usize = 128;

impl ServerName {
    /// The server with this name.
    ///
    /// # Errors
    /// The name is empty, has more than 128 bytes or has control characters.
    pub fn new(name: &str) -> Result<Self, ServerNameError> {
        if name.is_empty() {
            return Err(ServerNameError::Empty);
        }
        if name.len() > MAX_BYTES {
            return Err(ServerNameError::TooLong(name.len()));
        }
        match name.chars().find(|character| character.is_control()) {
            Some(control) => Err(ServerNameError::Control(control)),
            None => Ok(Self(Arc::from(name))),
        }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as shared text, as errors carry it.
    #[must_use]
    pub fn as_arc(&self) -> &Arc<str> {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_content_or_with_control_characters_are_refused() {
        let check = |name: &str, expect: Result<(), ServerNameError>| {
            assert_eq!(ServerName::new(name).map(drop), expect, "{name:?}");
        };
        check("github", Ok(()));
        check("Größe 1.0/x", Ok(()));
        check(&"x".repeat(128), Ok(()));
        check("", Err(ServerNameError::Empty));
        check(&"x".repeat(129), Err(ServerNameError::TooLong(129)));
        check("a\u{1b}[2J", Err(ServerNameError::Control('\u{1b}')));
        check("a\n", Err(ServerNameError::Control('\n')));
    }
}
