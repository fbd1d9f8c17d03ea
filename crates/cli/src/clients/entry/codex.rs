use super::super::document::{Node, Value};
use super::super::table::TimeUnit;
use super::members::Members;
use super::oauth;
use super::read::{Unusable, plain};
use super::standard::note_relative_directory;
use crate::config::definition::{
    CommandDefinition, Connection, OAuthDefinition, ServerDefinition, UrlDefinition, UrlTransport,
};
use crate::config::template::Template;

/// Reads a table `[mcp_servers.<name>]` of Codex.
pub(super) fn read(members: &mut Members<'_>) -> Result<ServerDefinition, Unusable> {
    let connection = match (members.has("command"), members.has("url")) {
        (true, true) => return Err("it has both a `command` and a `url`".into()),
        (true, false) => command(members)?,
        (false, true) => url(members)?,
        (false, false) => return Err("it has neither a `command` nor a `url`".into()),
    };
    let mut definition = plain(connection);
    definition.enabled = members.bool("enabled")?.unwrap_or(true);
    definition.timeouts.connect =
        match members.duration("startup_timeout_sec", TimeUnit::Seconds)? {
            Some(limit) => Some(limit),
            None => members.duration("startup_timeout_ms", TimeUnit::Milliseconds)?,
        };
    definition.timeouts.call = members.duration("tool_timeout_sec", TimeUnit::Seconds)?;
    definition.allowed_tools = members.texts("enabled_tools")?;
    definition.disabled_tools = members.texts("disabled_tools")?.unwrap_or_default();
    Ok(definition)
}

fn command(members: &mut Members<'_>) -> Result<Connection, Unusable> {
    let mut env = members.map("env")?;
    for name in variable_names(members)? {
        // A variable that is forwarded may be missing.
        let value = Template::new(format!("${{{name}:-}}"));
        env.push((name, value));
    }
    note_relative_directory(members)?;
    Ok(Connection::Command(CommandDefinition {
        command: members.template("command")?.ok_or("it has no `command`")?,
        args: members.templates("args")?,
        env,
        env_file: None,
        cwd: members.template("cwd")?,
        inherit_all: false,
    }))
}

/// Names of `env_vars`, which are texts or tables with a `name`.
fn variable_names(members: &mut Members<'_>) -> Result<Vec<String>, Unusable> {
    let Some(node) = members.node("env_vars") else {
        return Ok(Vec::new());
    };
    let Value::List(items) = &node.value else {
        return Err("`env_vars` is not a list".into());
    };
    let name = |item: &Node| {
        let name = item.as_text().or_else(|| item.get("name")?.as_text());
        name.map(str::to_owned)
            .ok_or_else(|| Unusable::from("`env_vars` is not a list of names"))
    };
    items.iter().map(name).collect()
}

fn url(members: &mut Members<'_>) -> Result<Connection, Unusable> {
    let mut headers = members.map("http_headers")?;
    if let Some(node) = members.node("env_http_headers") {
        for (header, variable) in node.members().unwrap_or_default() {
            let variable = variable
                .as_text()
                .ok_or("`env_http_headers` is not a table of texts")?;
            headers.push((header.clone(), Template::new(format!("${{{variable}}}"))));
        }
    }
    if let Some(variable) = members.text("bearer_token_env_var")? {
        let value = Template::new(format!("Bearer ${{{variable}}}"));
        headers.push(("Authorization".to_owned(), value));
    }
    let mut oauth = oauth::read(members)?;
    if let Some(scopes) = members.texts("scopes")? {
        match oauth.get_or_insert_with(|| OAuthDefinition::On(Box::default())) {
            OAuthDefinition::On(settings) => settings.scopes = scopes,
            OAuthDefinition::Off => {}
        }
    }
    Ok(Connection::Url(UrlDefinition {
        transport: UrlTransport::Http,
        url: members.template("url")?.ok_or("it has no `url`")?,
        headers,
        headers_helper: None,
        oauth,
    }))
}
