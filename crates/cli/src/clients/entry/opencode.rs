use super::super::table::TimeUnit;
use super::members::Members;
use super::oauth;
use super::read::{Unusable, plain};
use super::standard::{is_enabled, note_relative_directory};
use crate::config::definition::{
    CommandDefinition, Connection, ServerDefinition, UrlDefinition, UrlTransport,
};

/// Reads an entry of `mcp` in OpenCode.
pub(super) fn read(members: &mut Members<'_>, name: &str) -> Result<ServerDefinition, Unusable> {
    // These two are settings of version 2, and an entry that only turns on or off is about another file.
    if !members.has("type") && (matches!(name, "servers" | "timeout") || members.has("enabled")) {
        return Err(Unusable::NotAServer);
    }
    let mut definition = plain(connection(members)?);
    definition.enabled = is_enabled(members)?;
    definition.timeouts.call = members.duration("timeout", TimeUnit::Milliseconds)?;
    Ok(definition)
}

/// Reads an entry of `mcp.servers` in OpenCode v2.
pub(super) fn read_v2(members: &mut Members<'_>) -> Result<ServerDefinition, Unusable> {
    let mut definition = plain(connection(members)?);
    definition.enabled = is_enabled(members)?;
    if let Some(mut limits) = members.inner("timeout")? {
        definition.timeouts.connect = limits.duration("startup", TimeUnit::Milliseconds)?;
        definition.timeouts.call = limits.duration("execution", TimeUnit::Milliseconds)?;
        members.adopt("timeout", limits);
    }
    // A way to show tools to a model, which the client decides.
    members.ignore(&["codemode"]);
    Ok(definition)
}

fn connection(members: &mut Members<'_>) -> Result<Connection, Unusable> {
    match members.text("type")? {
        Some("local") => {
            note_relative_directory(members)?;
            let mut words = members.templates("command")?.into_iter();
            Ok(Connection::Command(CommandDefinition {
                command: words.next().ok_or("`command` is empty")?,
                args: words.collect(),
                env: members.map("environment")?,
                env_file: None,
                cwd: members.template("cwd")?,
                inherit_all: false,
            }))
        }
        Some("remote") => Ok(Connection::Url(UrlDefinition {
            transport: UrlTransport::Http,
            url: members.template("url")?.ok_or("it has no `url`")?,
            headers: members.map("headers")?,
            headers_helper: None,
            oauth: oauth::read(members)?,
        })),
        Some(other) => Err(format!("the type `{other}` is not supported").into()),
        None => Err("it has no `type`".into()),
    }
}
