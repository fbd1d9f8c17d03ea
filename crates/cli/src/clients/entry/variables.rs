use std::path::Path;

use super::super::table::Variables;
use crate::config::template::Template;

/// Source of a text: what its variables and its relative paths mean.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin<'a> {
    pub(super) variables: Variables,
    /// Directory of the file of the client.
    pub(super) directory: &'a Path,
}

/// Text of a client as a template of ours.
///
/// # Errors
/// It has a variable that only the client knows, or text that would be a variable here and is none there.
pub(super) fn template(origin: Origin<'_>, text: &str) -> Result<Template, String> {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['$', '{']) {
        let (before, tail) = rest.split_at(start);
        result.push_str(before);
        let (written, used) = variable_at(origin, tail)?;
        result.push_str(&written);
        rest = tail.get(used..).unwrap_or_default();
    }
    result.push_str(rest);
    Ok(Template::new(result))
}

/// A variable of the environment in the form of a client; `None` if the client has no variables.
pub(super) fn variable(variables: Variables, name: &str) -> Option<String> {
    match variables {
        Variables::None => None,
        Variables::Dollar | Variables::Shell => Some(format!("${{{name}}}")),
        Variables::Editor => Some(format!("${{env:{name}}}")),
        Variables::Braces => Some(format!("{{env:{name}}}")),
    }
}

/// Variable or character at the start of `tail` in our form, and its length there.
fn variable_at(origin: Origin<'_>, tail: &str) -> Result<(String, usize), String> {
    let variables = origin.variables;
    let literal = |length: usize| (tail.get(..length).unwrap_or_default().to_owned(), length);
    if let Some((inside, length)) = braced(tail, "${") {
        return match variables {
            // Two signs stand for one in our templates.
            Variables::None | Variables::Braces => Ok(("$${".to_owned(), "${".len())),
            Variables::Dollar | Variables::Shell => match is_variable(inside) {
                true => Ok(literal(length)),
                false => Err(unknown(tail, length)),
            },
            Variables::Editor => editor(inside)
                .map(|text| (text, length))
                .ok_or_else(|| unknown(tail, length)),
        };
    }
    if tail.starts_with("$${") && !matches!(variables, Variables::None | Variables::Braces) {
        return Err(not_ours(tail, "$${".len()));
    }
    for (prefix, translate) in BRACED {
        if let Some((inside, length)) = braced(tail, prefix) {
            return match variables {
                Variables::Braces => translate(inside, origin.directory)
                    .map(|text| (text, length))
                    .ok_or_else(|| unknown(tail, length)),
                _ => Err(not_ours(tail, length)),
            };
        }
    }
    if variables == Variables::Shell
        && let Some(name) = tail.strip_prefix('$')
    {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = name.find(|c: char| !is_name(c)).unwrap_or(name.len());
        if let Some(name) = name.get(..length).filter(|name| is_variable(name)) {
            return Ok((format!("${{{name}}}"), length + 1));
        }
    }
    Ok(literal(1))
}

/// Text between brackets in the files of OpenCode, in our form.
type Translate = fn(&str, &Path) -> Option<String>;

/// Variables of OpenCode that would be variables here too, with another meaning.
const BRACED: [(&str, Translate); 2] = [("{env:", unset_is_empty), ("{file:", from_directory)];

/// A variable of the environment that may be missing: OpenCode takes an empty text in its place.
fn unset_is_empty(name: &str, _: &Path) -> Option<String> {
    let is_name = is_variable(name) && !name.contains(":-");
    is_name.then(|| format!("${{{name}:-}}"))
}

/// Content of a file: OpenCode takes a relative path from the directory of its own file, and we from that of ours.
fn from_directory(path: &str, directory: &Path) -> Option<String> {
    if path.starts_with("~/") || Path::new(path).is_absolute() {
        return Some(format!("{{file:{path}}}"));
    }
    let path = std::path::absolute(directory.join(path)).ok()?;
    // A bracket would end the variable.
    let path = path.to_str().filter(|path| !path.contains('}'))?;
    Some(format!("{{file:{path}}}"))
}

/// Text between `open` and the next `}`, and the length of all three.
fn braced<'t>(tail: &'t str, open: &str) -> Option<(&'t str, usize)> {
    let (inside, _) = tail.strip_prefix(open)?.split_once('}')?;
    Some((inside, open.len() + inside.len() + 1))
}

/// True for a name of a variable, with a default or without.
fn is_variable(inside: &str) -> bool {
    let name = inside.split_once(":-").map_or(inside, |(name, _)| name);
    let mut characters = name.chars();
    characters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A variable of VS Code, Cursor or Windsurf in our form.
fn editor(inside: &str) -> Option<String> {
    match inside {
        "userHome" => Some("${HOME}".to_owned()),
        "pathSeparator" | "/" => Some(std::path::MAIN_SEPARATOR.to_string()),
        inside => match inside.split_once(':') {
            Some(("env", name)) if is_variable(name) => Some(format!("${{{name}}}")),
            Some(("file", path)) => Some(format!("{{file:{path}}}")),
            _ => None,
        },
    }
}

fn unknown(tail: &str, length: usize) -> String {
    format!(
        "uses `{}`, which only the client can fill in",
        tail.get(..length).unwrap_or_default()
    )
}

fn not_ours(tail: &str, length: usize) -> String {
    format!(
        "has the text `{}`, which would be a variable in our configuration",
        tail.get(..length).unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: Variables, text: &str, expect: Result<&str, &str>) {
        let origin = Origin {
            variables,
            directory: Path::new("/srv/me/.config/opencode"),
        };
        let found = template(origin, text);
        let found = found.as_ref().map(Template::as_str).map_err(String::as_str);
        assert_eq!(found, expect, "{variables:?} {text}");
    }

    #[test]
    fn variables_of_a_client_become_ours() {
        use Variables::{Braces, Dollar, Editor, Shell};
        for (variables, text, expect) in [
            (
                Dollar,
                "a ${TOKEN} $b {c} ${X:-y}",
                "a ${TOKEN} $b {c} ${X:-y}",
            ),
            (Shell, "$TOKEN/${TOKEN} $5 $", "${TOKEN}/${TOKEN} $5 $"),
            (Editor, "Bearer ${env:TOKEN}", "Bearer ${TOKEN}"),
            (Editor, "${userHome}/x", "${HOME}/x"),
            (Editor, "${file:/run/secret}", "{file:/run/secret}"),
            (
                Braces,
                "{env:TOKEN} {file:~/x} {y}",
                "${TOKEN:-} {file:~/x} {y}",
            ),
            #[cfg(unix)]
            (
                Braces,
                "{file:/run/x} {file:./key} {file:key} {file:../key}",
                "{file:/run/x} {file:/srv/me/.config/opencode/key} {file:/srv/me/.config/opencode/key} {file:/srv/me/.config/opencode/../key}",
            ),
            (Braces, "${X}", "$${X}"),
            (Variables::None, "$HOME {x} ${", "$HOME {x} ${"),
            (Variables::None, "a${X}b$${Y}", "a$${X}b$$${Y}"),
        ] {
            check(variables, text, Ok(expect));
        }
    }

    #[test]
    fn variables_that_cannot_be_kept_are_named() {
        use Variables::{Braces, Dollar, Editor};
        let client = |text: &str| format!("uses `{text}`, which only the client can fill in");
        let ours = |text: &str| {
            format!("has the text `{text}`, which would be a variable in our configuration")
        };
        for (variables, text, problem) in [
            (Editor, "${workspaceFolder}/x", client("${workspaceFolder}")),
            (Editor, "${input:key}", client("${input:key}")),
            (Dollar, "${a.b}", client("${a.b}")),
            (Dollar, "{env:X}", ours("{env:X}")),
            (Dollar, "$${X}", ours("$${")),
            (Braces, "{env:a b}", client("{env:a b}")),
            (Variables::None, "{file:x}", ours("{file:x}")),
        ] {
            check(variables, text, Err(&problem));
        }
    }
}
