use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Text of a configuration file that may have variables: `${VAR}`, `${VAR:-default}`, `${env:VAR}`, `{env:VAR}`,
/// `{file:path}`. `$${` stands for the characters `${`.
///
/// Its `Display` is the text as it is written: listings and errors never show values of variables, which may
/// be secrets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Template(String);

/// A template with the values of its variables. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Expanded {
    text: String,
    /// Contents of the files that the template names.
    files: Vec<String>,
}

/// Sources of the values of variables.
pub(crate) struct Sources<'a> {
    /// Value of a variable of the environment.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
    /// Directory at which relative paths start.
    pub(crate) directory: &'a Path,
    /// Directory that `~` stands for.
    pub(crate) home: Option<&'a Path>,
}

/// A variable without a value. Its text shows no values.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TemplateError {
    #[error("the variable `{0}` is not set")]
    Unset(String),
    #[error("`{0}` is not a variable")]
    NotAVariable(String),
    #[error("`{0}` is an input of VS Code, which Callgate does not ask for")]
    Input(String),
    #[error("cannot read `{}`", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// Maximum bytes of a file in a template.
const MAX_FILE: u64 = 64 * 1024;

impl Template {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text as it is written.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// True if the text is not its own value.
    pub(crate) fn has_variables(&self) -> bool {
        !matches!(parts(&self.0).as_slice(), [] | [Part::Text(_)])
    }

    /// True if the text has nothing but variables without defaults, so that it shows no value.
    pub(crate) fn is_only_variables(&self) -> bool {
        let parts = parts(&self.0);
        let is_value = |part: &Part<'_>| match part {
            Part::Text(text) => !text.trim().is_empty(),
            Part::Variable { default, .. } => default.is_some_and(|text| !text.is_empty()),
            Part::File(_) | Part::Unknown(_) => false,
        };
        !parts.is_empty() && !parts.iter().any(is_value)
    }

    /// The text without its variables, and with their defaults.
    pub(crate) fn literal(&self) -> String {
        let parts = parts(&self.0).into_iter();
        let texts = parts.map(|part| match part {
            Part::Text(text) => text,
            Part::Variable { default, .. } => default.unwrap_or_default(),
            Part::File(_) | Part::Unknown(_) => "",
        });
        texts.collect()
    }

    /// Names of the variables of the environment, in their order.
    pub(crate) fn variable_names(&self) -> Vec<&str> {
        let parts = parts(&self.0).into_iter();
        let names = parts.filter_map(|part| match part {
            Part::Variable { name, .. } => Some(name),
            _ => None,
        });
        names.collect()
    }

    /// The variables and files that values come from, without defaults.
    pub(crate) fn references(&self) -> Vec<String> {
        let parts = parts(&self.0).into_iter();
        let references = parts.filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Variable { name, .. } => Some(format!("${{{name}}}")),
            Part::File(path) => Some(format!("{{file:{path}}}")),
            Part::Unknown(written) => Some(written.to_owned()),
        });
        references.collect()
    }

    /// The text with the values of its variables.
    pub(crate) fn expand(&self, sources: &Sources<'_>) -> Result<Expanded, TemplateError> {
        let mut expanded = String::with_capacity(self.0.len());
        let mut files = Vec::new();
        for part in parts(&self.0) {
            match part {
                Part::Text(text) => expanded.push_str(text),
                Part::Variable { name, default } => {
                    let value = (sources.variable)(name);
                    let value = value.or_else(|| default.map(str::to_owned));
                    let value = value.ok_or_else(|| TemplateError::Unset(name.to_owned()))?;
                    expanded.push_str(&value);
                }
                Part::File(path) => {
                    let content = read(&sources.path(path))?;
                    expanded.push_str(&content);
                    files.push(content);
                }
                Part::Unknown(written) if written.starts_with("${input:") => {
                    return Err(TemplateError::Input(written.to_owned()));
                }
                Part::Unknown(written) => {
                    return Err(TemplateError::NotAVariable(written.to_owned()));
                }
            }
        }
        Ok(Expanded {
            text: expanded,
            files,
        })
    }
}

impl Sources<'_> {
    /// A path of the configuration, as this process can open it.
    pub(crate) fn path(&self, written: &str) -> PathBuf {
        path(written, self.directory, self.home)
    }
}

/// A path that starts at `directory`, or at `home` if it begins with `~`.
pub(crate) fn path(written: &str, directory: &Path, home: Option<&Path>) -> PathBuf {
    let below_home = match written {
        "~" => Some(""),
        path => path.strip_prefix("~/"),
    };
    match (below_home, home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => directory.join(written),
    }
}

impl Expanded {
    /// A value that was read from a file.
    pub(super) fn from_file(value: String) -> Self {
        Self {
            text: value,
            files: Vec::new(),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Contents of the files that the template names.
    pub(super) fn files(&self) -> &[String] {
        &self.files
    }
}

impl fmt::Debug for Expanded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Piece of a template.
#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Text(&'a str),
    Variable {
        name: &'a str,
        default: Option<&'a str>,
    },
    /// Content of a file.
    File(&'a str),
    /// A variable that is written wrongly, with its brackets.
    Unknown(&'a str),
}

/// Splits a template; two texts never stand beside each other unless one is escaped.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, found, after)) = next(rest) {
        if !before.is_empty() {
            parts.push(Part::Text(before));
        }
        parts.push(found);
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    parts
}

/// The first variable or escape, with the text before and after it.
fn next(text: &str) -> Option<(&str, Part<'_>, &str)> {
    for (start, _) in text.match_indices(['$', '{']) {
        let (before, from) = text.split_at(start);
        if let Some(after) = from.strip_prefix("$${") {
            // The second `$` and the bracket are the text that is meant.
            let meant = from.get(1..3).unwrap_or_default();
            return Some((before, Part::Text(meant), after));
        }
        let Some((inner, after)) = bracketed(from) else {
            continue;
        };
        let written = from.get(..from.len() - after.len()).unwrap_or_default();
        return Some((before, variable(inner, written), after));
    }
    None
}

/// The text between the brackets of a variable at the beginning of `text`, and the text after them.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let inner = match text.strip_prefix("${") {
        Some(inner) => inner,
        None => {
            let inner = text.strip_prefix('{')?;
            let is_ours = inner.starts_with("env:") || inner.starts_with("file:");
            is_ours.then_some(inner)?
        }
    };
    inner.split_once('}')
}

fn variable<'a>(inner: &'a str, written: &'a str) -> Part<'a> {
    if let (Some(path), false) = (inner.strip_prefix("file:"), written.starts_with('$')) {
        return Part::File(path);
    }
    let inner = inner.strip_prefix("env:").unwrap_or(inner);
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    let is_name = |name: &str| {
        !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || ":${=\0".contains(c))
    };
    match is_name(name) {
        true => Part::Variable { name, default },
        false => Part::Unknown(written),
    }
}

/// Content of a file, without the space around it.
fn read(path: &Path) -> Result<String, TemplateError> {
    let failed = |source| TemplateError::File {
        path: path.to_owned(),
        source,
    };
    let mut content = String::new();
    let file = File::open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(failed(io::Error::other("it is not a file")));
    }
    file.take(MAX_FILE + 1)
        .read_to_string(&mut content)
        .map_err(failed)?;
    match content.len() as u64 > MAX_FILE {
        true => Err(failed(io::Error::other(format!(
            "it has more than {MAX_FILE} bytes"
        )))),
        false => Ok(content.trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn expand(text: &str, directory: &Path) -> Result<String, String> {
        let variable = |name: &str| match name {
            "A" => Some("1".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let sources = Sources {
            variable: &variable,
            directory,
            home: Some(directory),
        };
        let expanded = Template::new(text).expand(&sources);
        expanded
            .map(|expanded| expanded.as_str().to_owned())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn variables_are_replaced_by_their_values() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("secret"), "s3\n").unwrap();
        for (text, expect) in [
            ("", Ok("")),
            ("plain $HOME { } {x} $", Ok("plain $HOME { } {x} $")),
            ("a${A}b${A}", Ok("a1b1")),
            ("${A:-x}${B:-x y}${B:-}", Ok("1x y")),
            ("${EMPTY:-x}|${EMPTY}", Ok("|")),
            ("${env:A} {env:A} ${env:B:-d}", Ok("1 1 d")),
            ("{file:secret} {file:~/secret}", Ok("s3 s3")),
            ("$${A} $${ $$ $$${A}", Ok("${A} ${ $$ $${A}")),
            ("${A", Ok("${A")),
            ("{env:A", Ok("{env:A")),
            (r#"{"env":"{env:A}"}"#, Ok(r#"{"env":"1"}"#)),
            ("${B}", Err("the variable `B` is not set")),
            ("${env:B}", Err("the variable `B` is not set")),
            ("${}", Err("`${}` is not a variable")),
            ("${a b}", Err("`${a b}` is not a variable")),
            (
                "x${input:token}",
                Err("`${input:token}` is an input of VS Code, which Callgate does not ask for"),
            ),
        ] {
            let expect = expect.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(expand(text, directory.path()), expect, "{text}");
        }
        let missing = directory.path().join("none");
        assert_eq!(
            expand("{file:none}", directory.path()),
            Err(format!("cannot read `{}`", missing.display()))
        );
    }

    #[test]
    fn files_in_templates_are_limited() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("large");
        let limit = usize::try_from(MAX_FILE).unwrap();
        fs::write(&path, vec![b'x'; limit]).unwrap();
        assert_eq!(
            expand("{file:large}", directory.path()),
            Ok("x".repeat(limit))
        );
        fs::write(&path, vec![b'x'; limit + 1]).unwrap();
        assert!(expand("{file:large}", directory.path()).is_err());
    }

    #[test]
    fn values_are_not_shown_for_debugging() {
        assert_eq!(
            format!("{:?}", Expanded::from_file("secret".to_owned())),
            "…"
        );
    }

    #[test]
    fn a_text_of_variables_alone_shows_no_value() {
        for (text, expect) in [
            ("${A}", true),
            ("${A:-}", true),
            ("{file:x} ${A}", true),
            ("${A:-x}", false),
            ("Bearer ${A}", false),
            ("x", false),
            ("", false),
        ] {
            assert_eq!(Template::new(text).is_only_variables(), expect, "{text}");
        }
    }
}
