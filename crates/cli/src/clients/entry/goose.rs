use super::super::table::TimeUnit;
use super::members::Members;
use super::read::{Unusable, plain};
use super::standard::note_relative_directory;
use crate::config::definition::{
    CommandDefinition, Connection, ServerDefinition, UrlDefinition, UrlTransport,
};
use crate::config::template::Template;

/// Reads an extension of Goose.
pub(super) fn read(members: &mut Members<'_>) -> Result<ServerDefinition, Unusable> {
    let connection = match members.text("type")? {
        Some("stdio") => command(members)?,
        Some("streamable_http") => url(members, UrlTransport::Http)?,
        Some("sse") => url(members, UrlTransport::Sse)?,
        Some("builtin" | "platform" | "frontend" | "inline_python") => {
            return Err(Unusable::NotAServer);
        }
        Some(other) => return Err(format!("the type `{other}` is not supported").into()),
        None => return Err("it has no `type`".into()),
    };
    let mut definition = plain(connection);
    definition.enabled = members.bool("enabled")?.unwrap_or(true);
    definition.timeouts.call = members.duration("timeout", TimeUnit::Seconds)?;
    // An empty list means all tools.
    definition.allowed_tools = members
        .texts("available_tools")?
        .filter(|tools| !tools.is_empty());
    members.ignore(&["name", "display_name", "description", "bundled"]);
    Ok(definition)
}

fn command(members: &mut Members<'_>) -> Result<Connection, Unusable> {
    note_relative_directory(members)?;
    Ok(Connection::Command(CommandDefinition {
        command: members.template("cmd")?.ok_or("it has no `cmd`")?,
        args: members.templates("args")?,
        env: variables(members)?,
        env_file: None,
        cwd: members.template("cwd")?,
        inherit_all: false,
    }))
}

fn url(members: &mut Members<'_>, transport: UrlTransport) -> Result<Connection, Unusable> {
    let keys = members.texts("env_keys")?.unwrap_or_default();
    if !keys.is_empty() {
        members.note("secrets of `env_keys` stay in the keychain of Goose");
    }
    members.ignore(&["envs"]);
    Ok(Connection::Url(UrlDefinition {
        transport,
        url: members.template("uri")?.ok_or("it has no `uri`")?,
        headers: members.map("headers")?,
        headers_helper: None,
        oauth: None,
    }))
}

/// Variables of a program; those whose values Goose keeps in a keychain are taken from our environment.
fn variables(members: &mut Members<'_>) -> Result<Vec<(String, Template)>, Unusable> {
    let mut env = members.map("envs")?;
    let keys = members.texts("env_keys")?.unwrap_or_default();
    for key in keys {
        members.note(format!(
            "`{key}` is in the keychain of Goose: set the variable {key} where Callgate runs"
        ));
        env.push((key.clone(), Template::new(format!("${{{key}}}"))));
    }
    Ok(env)
}
