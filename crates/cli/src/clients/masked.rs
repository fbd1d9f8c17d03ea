//! A server in one line without its secrets.

use crate::config::definition::{Connection, ServerDefinition};
use crate::config::template::Template;

/// Sign in place of a secret.
const MASK: &str = "***";

/// The command or the URL, with variables as they are written and masks in place of what may be a secret.
pub(crate) fn target(definition: &ServerDefinition) -> String {
    match &definition.connection {
        Connection::Url(definition) => url(definition.url.as_str()),
        Connection::Command(definition) => {
            let args = definition.args.iter().map(Template::as_str);
            command_line(definition.command.as_str(), args)
        }
    }
}

/// A command line, with masks in place of what may be a secret.
pub(crate) fn command_line<'a>(program: &str, args: impl Iterator<Item = &'a str>) -> String {
    let mut words = vec![program.to_owned()];
    let mut is_secret = false;
    for arg in args {
        words.push(argument(arg, is_secret));
        is_secret = is_secret_option(arg);
    }
    words.join(" ")
}

/// Names of the variables and headers that the definition sets; their values are not shown.
pub(crate) fn names(definition: &ServerDefinition) -> Vec<&str> {
    let pairs = match &definition.connection {
        Connection::Command(definition) => &definition.env,
        Connection::Url(definition) => &definition.headers,
    };
    pairs.iter().map(|(name, _)| name.as_str()).collect()
}

fn argument(text: &str, is_secret: bool) -> String {
    if is_variable(text) {
        return text.to_owned();
    }
    if is_secret || looks_secret(text) {
        return MASK.to_owned();
    }
    match text.split_once(['=', ':']) {
        Some((name, value)) if is_secret_name(name) && !is_variable(value.trim()) => {
            let separator = text.get(name.len()..=name.len()).unwrap_or_default();
            format!("{name}{separator}{MASK}")
        }
        _ if text.contains("://") => url(text),
        _ => text.to_owned(),
    }
}

/// A URL without its user and password, and with masks for the values of its query. It may have variables.
pub(crate) fn url(text: &str) -> String {
    let (start, query) = match text.split_once('?') {
        Some((start, query)) => (start, Some(query)),
        None => (text, None),
    };
    let mut masked = start.to_owned();
    if let Some((scheme, rest)) = start.split_once("://") {
        let host = rest.split('/').next().unwrap_or_default();
        if let Some((user, _)) = host.rsplit_once('@') {
            let rest = rest.get(user.len()..).unwrap_or_default();
            masked = format!("{scheme}://{MASK}{rest}");
        }
    }
    if let Some(query) = query {
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, value)) if !is_variable(value) => format!("{name}={MASK}"),
            _ => pair.to_owned(),
        });
        masked.push('?');
        masked.push_str(&pairs.collect::<Vec<_>>().join("&"));
    }
    masked
}

/// True if the whole text is one variable.
fn is_variable(text: &str) -> bool {
    text.starts_with("${") && text.ends_with('}') && text.matches('{').count() == 1
}

/// True for an option whose value follows in the next argument.
fn is_secret_option(text: &str) -> bool {
    text.starts_with('-')
        && !text.contains('=')
        && (is_secret_name(text) || text == "--header" || text == "-H")
}

fn is_secret_name(name: &str) -> bool {
    const WORDS: [&str; 9] = [
        "token",
        "secret",
        "password",
        "passwd",
        "key",
        "auth",
        "credential",
        "cookie",
        "bearer",
    ];
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// True for the well-known forms of keys.
fn looks_secret(text: &str) -> bool {
    const PREFIXES: [&str; 8] = [
        "sk-",
        "ghp_",
        "gho_",
        "github_pat_",
        "xox",
        "eyJ",
        "AKIA",
        "Bearer ",
    ];
    text.len() > 12 && PREFIXES.iter().any(|prefix| text.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_secret_is_masked() {
        for (arg, expect) in [
            ("--api-key=abc", "--api-key=***"),
            ("Authorization: Bearer x", "Authorization:***"),
            ("Authorization:${AUTH}", "Authorization:${AUTH}"),
            ("API_KEY=abc", "API_KEY=***"),
            ("sk-0123456789abcdef", "***"),
            ("ghp_0123456789abcdef", "***"),
            ("postgresql://me:pw@db/x", "postgresql://***@db/x"),
            (
                "https://a.example/mcp?key=1&x=${X}",
                "https://a.example/mcp?key=***&x=${X}",
            ),
            ("-y", "-y"),
            ("server-filesystem", "server-filesystem"),
            ("${TOKEN}", "${TOKEN}"),
        ] {
            assert_eq!(argument(arg, false), expect);
        }
        assert_eq!(argument("abc", true), "***");
        assert_eq!(argument("${X}", true), "${X}");
        assert!(is_secret_option("--token") && is_secret_option("-H"));
        assert!(!is_secret_option("--token=x") && !is_secret_option("-y"));
        assert_eq!(
            url("https://${HOST}/mcp?key=abc"),
            "https://${HOST}/mcp?key=***"
        );
    }
}
