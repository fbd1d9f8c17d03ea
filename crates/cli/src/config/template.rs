use std::fmt;

/// Text of a configuration file that may have variables: `${VAR}`, `${VAR:-default}`, `{env:VAR}`, `{file:path}`.
///
/// Its `Display` is the text as it is written: listings and errors never show values of variables, which may
/// be secrets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Template(String);

impl Template {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text as it is written.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
