//! Definitions of servers for a reader: variables as they are written, and no secrets.

use callgate_mcp::wire::RawJson;
use serde_json::{Value, json};

use crate::config::definition::{Connection, OAuthDefinition, UrlTransport};
use crate::config::secret_text::hidden_args;
use crate::config::template::Template;
use crate::config::{ConfiguredServer, ServerDefinition};
use crate::error::CommandError;
use crate::output;

/// The command line or the URL.
pub(crate) fn target(definition: &ServerDefinition) -> String {
    written_target(&definition.shown())
}

/// The same with everything that is written.
pub(crate) fn written_target(definition: &ServerDefinition) -> String {
    match &definition.connection {
        Connection::Command(command) => words(&command.command, &command.args),
        Connection::Url(url) => url.url.to_string(),
    }
}

/// The command line of a program that is not configured.
pub(crate) fn command_line(program: &str, args: &[String]) -> String {
    let args: Vec<Template> = args.iter().map(Template::new).collect();
    words(&Template::new(program), &hidden_args(&args))
}

/// Names of the variables and headers that the definition sets; their values are not shown.
pub(crate) fn names(definition: &ServerDefinition) -> Vec<&str> {
    let pairs = match &definition.connection {
        Connection::Command(definition) => &definition.env,
        Connection::Url(definition) => &definition.headers,
    };
    pairs.iter().map(|(name, _)| name.as_str()).collect()
}

fn words(program: &Template, args: &[Template]) -> String {
    let words = std::iter::once(program).chain(args);
    words.map(word).collect::<Vec<_>>().join(" ")
}

/// A word of a command line. Variables look as in the file: quotes that keep a shell from them would hide that
/// Callgate replaces them.
fn word(template: &Template) -> String {
    let text = template.as_str();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+=./:@%,${}[]~^#*?".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => output::argument(text),
    }
}

/// Rows of a key and its value, for all keys of the definition.
pub(crate) fn rows(server: &ConfiguredServer) -> Vec<(String, String)> {
    let definition = server.definition.shown();
    let mut rows = vec![
        ("name".to_owned(), server.name.to_string()),
        (
            "file".to_owned(),
            format!("{} ({})", server.origin.path.display(), server.origin.scope),
        ),
    ];
    let mut add = |key: &str, value: String| rows.push((key.to_owned(), value));
    if !server.trusted {
        add("trusted", "no".to_owned());
    }
    add(
        "enabled",
        if definition.enabled { "yes" } else { "no" }.to_owned(),
    );
    match &definition.connection {
        Connection::Command(_) => {
            add("type", "stdio".to_owned());
            add("command", written_target(&definition));
        }
        Connection::Url(url) => {
            let transport = match url.transport {
                UrlTransport::Http => "http",
                UrlTransport::Sse => "sse",
            };
            add("type", transport.to_owned());
            add("url", url.url.to_string());
            if matches!(url.oauth, Some(OAuthDefinition::Off)) {
                add("oauth", "off".to_owned());
            }
        }
    }
    let json = definition.to_json();
    let shown = ["type", "command", "args", "url", "enabled"];
    for (key, value) in json.members_besides(&shown) {
        rows.extend(value_rows(&key, &value));
    }
    rows
}

/// A row for each member of an object of texts, such as `env`; one row for any other value.
fn value_rows(key: &str, value: &RawJson) -> Vec<(String, String)> {
    if matches!(key, "env" | "headers") {
        let pairs = value.members_besides(&[]).into_iter();
        let separator = if key == "env" { "=" } else { ": " };
        let pairs = pairs.map(|(name, value)| {
            let value = value.text().unwrap_or_default().into_owned();
            (key.to_owned(), format!("{name}{separator}{value}"))
        });
        return pairs.collect();
    }
    let text = match value.text() {
        Some(text) => text.into_owned(),
        None if value.as_str() == "false" => return Vec::new(),
        None => value.as_str().to_owned(),
    };
    vec![(key.to_owned(), text)]
}

/// A server for programs.
pub(crate) fn as_json(server: &ConfiguredServer) -> Result<Value, CommandError> {
    let definition = server.definition.shown().to_json();
    let definition: Value = definition.decode().map_err(anyhow::Error::from)?;
    Ok(json!({
        "name": server.name.as_str(),
        "scope": server.origin.scope,
        "path": server.origin.path,
        "trusted": server.trusted,
        "enabled": server.definition.enabled,
        "definition": definition,
    }))
}
