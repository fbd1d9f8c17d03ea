//! Texts that look like secrets, which listings do not show.
//!
//! Best-effort: a secret that looks like nothing special is shown. The safe way to write one is a variable.

use super::definition::{Connection, OAuthDefinition, ServerDefinition};
use super::template::Template;

/// Text in place of a secret.
pub(crate) const HIDDEN: &str = "[hidden]";

impl ServerDefinition {
    /// The definition for listings: variables as they are written, and nothing that looks like a secret.
    pub(crate) fn shown(&self) -> Self {
        let mut shown = self.clone();
        match &mut shown.connection {
            Connection::Command(command) => {
                command.env = hidden_pairs(&command.env);
                command.args = hidden_args(&command.args);
            }
            Connection::Url(url) => {
                url.headers = hidden_pairs(&url.headers);
                url.url = Template::new(hidden_in_url(url.url.as_str()));
                if let Some(command) = &mut url.headers_helper {
                    *command = Template::new(hidden_in_command(command.as_str()));
                }
                if let Some(OAuthDefinition::On(settings)) = &mut url.oauth
                    && let Some(secret) = &mut settings.client_secret
                    && !secret.is_only_variables()
                {
                    *secret = Template::new(HIDDEN);
                }
            }
        }
        shown
    }
}

/// True if the value of a variable or header is a secret that is written out.
pub(crate) fn is_secret(name: &str, value: &Template) -> bool {
    let literal = value.literal();
    is_named_secret(name, value)
        || words_besides_scheme(&literal).any(looks_random)
        || hidden_in_url(value.as_str()) != value.as_str()
}

/// The same by the name alone: a value that looks random may just as well be the name of a file that is run.
pub(crate) fn is_named_secret(name: &str, value: &Template) -> bool {
    is_sensitive(name) && words_besides_scheme(&value.literal()).any(|word| !is_plain_setting(word))
}

fn words_besides_scheme(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().filter(|word| !is_scheme(word))
}

fn hidden_pairs(pairs: &[(String, Template)]) -> Vec<(String, Template)> {
    let pairs = pairs.iter();
    let hidden = pairs.map(|(name, value)| match is_secret(name, value) {
        true => (name.clone(), Template::new(HIDDEN)),
        false => (name.clone(), value.clone()),
    });
    hidden.collect()
}

/// Arguments without the values of options such as `--api-key`, of variables and of headers.
pub(crate) fn hidden_args(args: &[Template]) -> Vec<Template> {
    let mut hidden = Vec::with_capacity(args.len());
    let mut option = "";
    for arg in args {
        let text = arg.as_str();
        let value = match text.split_once('=') {
            Some((name, value)) if name.starts_with('-') => {
                let value = hidden_value(name, value);
                value.map(|value| format!("{name}={value}"))
            }
            _ if text.starts_with('-') => None,
            _ => hidden_value(option, text),
        };
        option = if text.starts_with('-') { text } else { "" };
        hidden.push(value.map_or_else(|| arg.clone(), Template::new));
    }
    hidden
}

/// The value of an option without what looks like a secret; `None` if there is nothing to hide.
fn hidden_value(option: &str, text: &str) -> Option<String> {
    let url = hidden_in_url(text);
    if url != text {
        return Some(url);
    }
    let is_secret_text = is_secret(option, &Template::new(text));
    if is_secret_text && is_sensitive(option) {
        return Some(HIDDEN.to_owned());
    }
    // The name of a variable or header is worth showing, and often all that tells what the value is.
    if let Some((name, value)) = pair(text) {
        let is_hidden = is_secret(name, &Template::new(value));
        let start = text.strip_suffix(value).filter(|_| is_hidden);
        return start.map(|start| format!("{start}{HIDDEN}"));
    }
    is_secret_text.then(|| HIDDEN.to_owned())
}

/// Name and value of a variable (`NAME=value`) or of a header (`Name: value`, `Name:value`).
fn pair(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once(['=', ':'])?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let value = value.trim_start();
    (begins && name.chars().all(is_name) && !value.is_empty() && !value.starts_with("//"))
        .then_some((name, value))
}

/// A command of a shell without the words that look like secrets, whatever quotes and brackets stand around them.
pub(crate) fn hidden_in_command(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut before = "";
    for piece in text.split_inclusive(|c: char| !is_token_char(c)) {
        let word = piece.trim_end_matches(|c: char| !is_token_char(c));
        let end = piece.strip_prefix(word).unwrap_or_default();
        match word.split_once('=') {
            Some((name, value)) if !name.is_empty() && is_secret(name, &Template::new(value)) => {
                shown.extend([name, "=", HIDDEN]);
            }
            _ if looks_random(word)
                || (is_scheme(before) && !word.is_empty() && before != "token") =>
            {
                shown.push_str(HIDDEN);
            }
            _ => shown.push_str(word),
        }
        shown.push_str(end);
        before = match end {
            " " => word,
            _ => "",
        };
    }
    shown
}

/// A URL without its password and without parameters that look like secrets.
fn hidden_in_url(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let (place, query) = match rest.split_once('?') {
        Some((place, query)) => (place, Some(query)),
        None => (rest, None),
    };
    let (authority, path) = match place.find('/') {
        Some(slash) => place.split_at(slash),
        None => (place, ""),
    };
    let authority = match authority.rsplit_once('@') {
        // A token may stand in the place of the user, with or without a password.
        Some((user, host)) => match user.split_once(':') {
            Some((name, _)) if looks_random(name) => format!("{HIDDEN}@{host}"),
            Some((name, password)) if !Template::new(password).is_only_variables() => {
                format!("{name}:{HIDDEN}@{host}")
            }
            None if looks_random(user) => format!("{HIDDEN}@{host}"),
            _ => authority.to_owned(),
        },
        None => authority.to_owned(),
    };
    let path: Vec<String> = path
        .split('/')
        .map(|part| match looks_random(part) {
            true => HIDDEN.to_owned(),
            false => part.to_owned(),
        })
        .collect();
    let mut shown = format!("{scheme}://{authority}{}", path.join("/"));
    if let Some(query) = query {
        let parameters = query
            .split('&')
            .map(|parameter| match parameter.split_once('=') {
                Some((name, value)) if is_secret(name, &Template::new(value)) => {
                    format!("{name}={HIDDEN}")
                }
                _ => parameter.to_owned(),
            });
        shown = format!("{shown}?{}", parameters.collect::<Vec<_>>().join("&"));
    }
    shown
}

/// True for a name that values with secrets have, by its words.
fn is_sensitive(name: &str) -> bool {
    const WORDS: [&str; 18] = [
        "apikey",
        "auth",
        "authorization",
        "bearer",
        "cookie",
        "credential",
        "credentials",
        "dsn",
        "jwt",
        "key",
        "pass",
        "passphrase",
        "passwd",
        "password",
        "pat",
        "pwd",
        "secret",
        "token",
    ];
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (was_lower && c.is_uppercase()) {
            words.push(std::mem::take(&mut word));
        }
        was_lower = c.is_lowercase();
        word.extend(c.to_lowercase().filter(|c| c.is_alphanumeric()));
    }
    words.push(word);
    let stem = |word: &str| word.strip_suffix('s').unwrap_or(word).to_owned();
    words
        .iter()
        .any(|word| WORDS.contains(&word.as_str()) || WORDS.contains(&stem(word).as_str()))
}

/// True for a word before the secret in a header.
fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "token", "apikey"].contains(&word.to_ascii_lowercase().as_str())
}

/// True for values of settings whose name happens to have such a word, such as `USE_AUTH=true` or a path.
fn is_plain_setting(word: &str) -> bool {
    let is_number = word.parse::<u32>().is_ok_and(|number| number < 100_000);
    let is_word = ["true", "false", "yes", "no", "on", "off", "none", "auto"]
        .contains(&word.to_ascii_lowercase().as_str());
    is_number || is_word || word.starts_with(['/', '~', '.'])
}

/// True for a character that tokens have.
fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-+/=.~".contains(c)
}

/// True for a text that is random enough to be a token, or begins as tokens do.
pub(crate) fn looks_random(text: &str) -> bool {
    const BEGINNINGS: [&str; 16] = [
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
        "glpat-",
        "sk-",
        "sk_",
        "pk_",
        "xox",
        "AKIA",
        "AIza",
        "eyJ",
        "npm_",
        "hf_",
    ];
    if !text.chars().all(is_token_char) {
        return text.starts_with("-----BEGIN");
    }
    if text.len() >= 16
        && BEGINNINGS
            .iter()
            .any(|beginning| text.starts_with(beginning))
    {
        return true;
    }
    let count = |is: fn(char) -> bool| text.chars().filter(|c| is(*c)).count();
    let digits = count(|c| c.is_ascii_digit());
    let letters = count(|c| c.is_ascii_alphabetic());
    let marks = text.len() - digits - letters;
    text.len() >= 24 && digits >= 4 && letters >= 4 && marks * 6 <= text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_look_like_secrets_are_told_from_settings() {
        for (name, value, expect) in [
            ("API_KEY", "abc", true),
            ("API_KEY", "${API_KEY}", false),
            ("API_KEY", "${API_KEY:-}", false),
            ("API_KEY", "${API_KEY:-abc}", true),
            ("Authorization", "Bearer ${TOKEN}", false),
            ("Authorization", "Bearer abc", true),
            ("X-API-Key", "abc", true),
            ("apiKey", "abc", true),
            ("KEYBOARD", "us", false),
            ("AUTHOR", "me", false),
            ("USE_AUTH", "true", false),
            ("TOKEN_FILE", "/run/token", false),
            ("MAX_TOKENS", "4096", false),
            ("PORT", "3000", false),
            ("X", "ghp_0123456789abcdefghij", true),
            ("X", "3f2b8c1d4e5f60718293a4b5c6d7e8f9", true),
            ("X", "@modelcontextprotocol/server-filesystem", false),
            ("DATABASE", "postgres://me:abc@db.example/x", true),
            ("DATABASE", "postgres://me:${PASSWORD}@db.example/x", false),
        ] {
            let seen = is_secret(name, &Template::new(value));
            assert_eq!(seen, expect, "{name}={value}");
        }
    }

    #[test]
    fn arguments_hide_the_values_of_variables_and_headers() {
        for (written, shown) in [
            (
                &["--header", "Authorization: Bearer hunter2"][..],
                &["--header", "Authorization: [hidden]"][..],
            ),
            (
                &["--header", "Authorization:hunter2"],
                &["--header", "Authorization:[hidden]"],
            ),
            (
                &["--header=X-Api-Key: hunter2"],
                &["--header=X-Api-Key: [hidden]"],
            ),
            (
                &["--header", "Authorization:${AUTH}"],
                &["--header", "Authorization:${AUTH}"],
            ),
            (
                &["--header", "Authorization: Bearer ${T}"],
                &["--header", "Authorization: Bearer ${T}"],
            ),
            (
                &["--header", "Accept: text/html"],
                &["--header", "Accept: text/html"],
            ),
            (
                &["-e", "GITHUB_TOKEN=value", "image:1"],
                &["-e", "GITHUB_TOKEN=[hidden]", "image:1"],
            ),
            (
                &["--env=GITHUB_TOKEN=value"],
                &["--env=GITHUB_TOKEN=[hidden]"],
            ),
            (&["API_KEY=value", "node"], &["API_KEY=[hidden]", "node"]),
            (
                &["-e", "API_KEY", "LOG=debug"],
                &["-e", "API_KEY", "LOG=debug"],
            ),
            (&["--token", "a:b"], &["--token", "[hidden]"]),
            (
                &["-v", "key:/data", "http://a.example/mcp"],
                &["-v", "key:/data", "http://a.example/mcp"],
            ),
        ] {
            let args: Vec<Template> = written.iter().map(|arg| Template::new(*arg)).collect();
            let seen = hidden_args(&args);
            let seen: Vec<&str> = seen.iter().map(Template::as_str).collect();
            assert_eq!(seen, shown);
        }
    }

    #[test]
    fn commands_hide_words_that_look_like_secrets() {
        for (written, shown) in [
            (
                r#"echo '{"Authorization":"Bearer ghp_0123456789abcdefghij"}'"#,
                r#"echo '{"Authorization":"Bearer [hidden]"}'"#,
            ),
            (
                r#"printf '{"Authorization":"Bearer hunter2"}'"#,
                r#"printf '{"Authorization":"Bearer [hidden]"}'"#,
            ),
            (
                "KEY=hunter2 ./helper --to 3f2b8c1d4e5f60718293a4b5c6d7e8f9",
                "KEY=[hidden] ./helper --to [hidden]",
            ),
            (
                "./print token ${TOKEN} --as json",
                "./print token ${TOKEN} --as json",
            ),
            (
                r#"echo "{\"A\":\"Bearer $TOKEN\"}""#,
                r#"echo "{\"A\":\"Bearer $TOKEN\"}""#,
            ),
        ] {
            assert_eq!(hidden_in_command(written), shown);
        }
    }

    #[test]
    fn listings_hide_secrets_and_show_variables() {
        for (written, shown) in [
            (
                r#"{"command":"x","args":["--api-key","abc","--token=abc","-v","postgres://a:b@c/d","plain"],"env":{"TOKEN":"abc","OTHER":"${OTHER}"}}"#,
                r#"{"command":"x","args":["--api-key","[hidden]","--token=[hidden]","-v","postgres://a:[hidden]@c/d","plain"],"env":{"TOKEN":"[hidden]","OTHER":"${OTHER}"}}"#,
            ),
            (
                r#"{"type":"http","url":"https://a.example/3f2b8c1d4e5f60718293a4b5c6d7e8f9/mcp?api_key=abc&a=b","headers":{"Authorization":"Bearer abc","X":"{file:x}"},"oauth":{"clientId":"i","clientSecret":"abc"}}"#,
                r#"{"type":"http","url":"https://a.example/[hidden]/mcp?api_key=[hidden]&a=b","headers":{"Authorization":"[hidden]","X":"{file:x}"},"oauth":{"clientId":"i","clientSecret":"[hidden]"}}"#,
            ),
            (
                r#"{"command":"x","args":["https://ghp_0123456789abcdefghij@a.example/x","https://ghp_0123456789abcdefghij:x@a.example/x","https://me@a.example/x"]}"#,
                r#"{"command":"x","args":["https://[hidden]@a.example/x","https://[hidden]@a.example/x","https://me@a.example/x"]}"#,
            ),
        ] {
            let (definition, _) = ServerDefinition::from_text(written).unwrap();
            assert_eq!(definition.shown().to_json().as_str(), shown);
        }
    }
}
