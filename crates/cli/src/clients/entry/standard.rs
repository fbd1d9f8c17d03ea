use super::super::document::{Node, Value};
use super::super::table::Client;
use super::members::Members;
use super::oauth;
use super::read::{Unusable, plain};
use crate::config::definition::{
    CommandDefinition, Connection, ServerDefinition, UrlDefinition, UrlTransport,
};

/// Reads an entry with `command`, `args` and `env`, or `url` and `headers`.
pub(super) fn read(
    members: &mut Members<'_>,
    client: &Client,
) -> Result<ServerDefinition, Unusable> {
    let connection = match transport(members)? {
        // Cline writes the connection as an object of its own.
        Some(mut inner) => {
            let connection = connection(&mut inner)?;
            members.adopt("transport", inner);
            connection
        }
        None => connection(members)?,
    };
    let mut definition = plain(connection);
    definition.enabled = is_enabled(members)?;
    definition.timeouts.call = members.duration("timeout", client.timeout)?;
    definition.allowed_tools = match members.texts("includeTools")? {
        Some(tools) => Some(tools),
        None => members.texts("allowedTools")?,
    };
    definition.disabled_tools = members.texts("excludeTools")?.unwrap_or_default();
    definition
        .disabled_tools
        .extend(members.texts("disabledTools")?.unwrap_or_default());
    // Texts of the client itself, which mean nothing here.
    members.ignore(&["source", "name", "description"]);
    // Each client asks before calls by its own rules, and the user should know that these stay behind.
    for name in ["autoApprove", "alwaysAllow", "trust"] {
        let approves = members.node(name).is_some_and(|node| match &node.value {
            Value::Bool(on) => *on,
            Value::List(tools) => !tools.is_empty(),
            _ => true,
        });
        if approves {
            members.note(format!("left out: the approval `{name}`"));
        }
    }
    Ok(definition)
}

pub(super) fn is_enabled(members: &mut Members<'_>) -> Result<bool, Unusable> {
    let enabled = members.bool("enabled")?.unwrap_or(true);
    Ok(enabled && !members.bool("disabled")?.unwrap_or(false))
}

fn transport<'a>(members: &mut Members<'a>) -> Result<Option<Members<'a>>, Unusable> {
    match members.node("transport") {
        Some(Node {
            value: Value::Object(_),
            ..
        }) => Ok(members.inner("transport")?),
        _ => Ok(None),
    }
}

/// Kind of the connection that an entry names.
enum Kind {
    Command,
    Url(UrlTransport),
}

fn connection(members: &mut Members<'_>) -> Result<Connection, Unusable> {
    let kind = kind(members)?;
    let has_url = ["url", "serverUrl", "httpUrl"]
        .iter()
        .any(|name| members.has(name));
    match (kind, members.has("command"), has_url) {
        (Some(Kind::Command), true, _) | (None, true, false) => command(members),
        (Some(Kind::Url(transport)), _, true) => url(members, transport),
        (None, false, true) => url(members, UrlTransport::Http),
        (None, true, true) => Err("it has both a `command` and a URL".into()),
        (Some(Kind::Command), false, _) => Err("it has no `command`".into()),
        (Some(Kind::Url(_)), _, false) => Err("it has no `url`".into()),
        (None, false, false) if members.has("settings") => {
            Err("it is an extension of the client, which has no command or URL of its own".into())
        }
        (None, false, false) => Err("it has neither a `command` nor a `url`".into()),
    }
}

fn kind(members: &mut Members<'_>) -> Result<Option<Kind>, Unusable> {
    for name in ["type", "transport", "transportType"] {
        let word = match members.node(name) {
            Some(Node {
                value: Value::Text(word),
                ..
            }) => word,
            Some(Node {
                value: Value::Object(_),
                ..
            })
            | None => continue,
            Some(_) => return Err(format!("`{name}` is not a text").into()),
        };
        return match word.as_str() {
            "stdio" | "local" => Ok(Some(Kind::Command)),
            "sse" => Ok(Some(Kind::Url(UrlTransport::Sse))),
            "http" | "streamable-http" | "streamableHttp" | "streamable_http" | "remote" => {
                Ok(Some(Kind::Url(UrlTransport::Http)))
            }
            other => Err(format!("the transport `{other}` is not supported").into()),
        };
    }
    Ok(None)
}

fn command(members: &mut Members<'_>) -> Result<Connection, Unusable> {
    // Zed has written the command as an object.
    if let Some(Node {
        value: Value::Object(_),
        ..
    }) = members.node("command")
        && let Some(mut inner) = members.inner("command")?
    {
        let program = inner.template("path")?.ok_or("`command` has no `path`")?;
        let definition = CommandDefinition {
            command: program,
            args: inner.templates("args")?,
            env: inner.map("env")?,
            env_file: None,
            cwd: None,
            inherit_all: false,
        };
        members.adopt("command", inner);
        return Ok(Connection::Command(definition));
    }
    note_relative_directory(members)?;
    Ok(Connection::Command(CommandDefinition {
        command: members.template("command")?.ok_or("it has no `command`")?,
        args: members.templates("args")?,
        env: members.map("env")?,
        env_file: members.template("envFile")?,
        cwd: members.template("cwd")?,
        inherit_all: false,
    }))
}

/// Clients take a relative directory from the place where they are started, which is not known here.
pub(super) fn note_relative_directory(members: &mut Members<'_>) -> Result<(), Unusable> {
    let is_relative = |path: &&str| {
        let is_drive = path.as_bytes().get(1) == Some(&b':');
        !path.starts_with(['/', '\\', '~', '$', '{', '%']) && !is_drive
    };
    if let Some(path) = members.text("cwd")?.filter(is_relative) {
        members.note(format!(
            "`cwd` is the relative path `{path}`, which counts from the directory of our file here"
        ));
    }
    Ok(())
}

fn url(members: &mut Members<'_>, transport: UrlTransport) -> Result<Connection, Unusable> {
    let mut url = None;
    for name in ["url", "serverUrl", "httpUrl"] {
        url = url.or(members.template(name)?);
    }
    Ok(Connection::Url(UrlDefinition {
        transport,
        url: url.ok_or("it has no `url`")?,
        headers: members.map("headers")?,
        headers_helper: members.template("headersHelper")?,
        oauth: oauth::read(members)?,
    }))
}
