use serde_json::{Value, json};

use crate::config::load::ConfigFile;
use crate::config::{Configuration, ConfiguredServer, LoadOptions, load};
use crate::error::CommandError;
use crate::{definition_text, output};

/// Shows the servers and files that apply here, with variables as they are written.
pub(super) fn run(options: &LoadOptions, json: bool) -> Result<(), CommandError> {
    let configuration = load(options)?;
    if json {
        return Ok(output::value(&as_json(&configuration)?)?);
    }
    for notice in &configuration.notices {
        output::note(&format!("notice: {notice}"));
    }
    for notice in configuration.faulty_notices() {
        output::note(&format!("warning: {notice}"));
    }
    if configuration.files.is_empty() {
        output::note("there is no configuration file here; `callgate add` makes one");
        return Ok(());
    }
    let files: Vec<_> = configuration.files.iter().map(file_row).collect();
    output::table(&files)?;
    let servers: Vec<_> = configuration.servers.iter().map(server_row).collect();
    if !servers.is_empty() {
        output::text("")?;
        output::table(&servers)?;
    }
    Ok(())
}

fn file_row(file: &ConfigFile) -> (String, String) {
    let trusted = if file.trusted { "" } else { " (not trusted)" };
    (
        file.origin.scope.to_string(),
        format!("{}{trusted}", file.origin.path.display()),
    )
}

fn server_row(server: &ConfiguredServer) -> (String, String) {
    let mut about = definition_text::target(&server.definition);
    if !server.definition.enabled {
        about.push_str(" (disabled)");
    }
    if !server.trusted {
        about.push_str(" (not trusted)");
    }
    (server.name.to_string(), about)
}

fn as_json(configuration: &Configuration) -> Result<Value, CommandError> {
    let files: Vec<Value> = configuration
        .files
        .iter()
        .map(|file| {
            json!({
                "path": file.origin.path,
                "scope": file.origin.scope,
                "trusted": file.trusted,
                "problem": file.problem,
            })
        })
        .collect();
    let servers: Result<Vec<Value>, _> = configuration
        .servers
        .iter()
        .map(definition_text::as_json)
        .collect();
    let faulty: Vec<Value> = configuration
        .faulty
        .iter()
        .map(|server| {
            json!({
                "name": server.name,
                "path": server.origin.path,
                "problem": server.error().message_line(),
            })
        })
        .collect();
    let shadowed: Vec<Value> = configuration
        .shadowed
        .iter()
        .map(|server| {
            json!({
                "name": server.name.as_str(),
                "path": server.origin.path,
                "by": server.by.path,
            })
        })
        .collect();
    let settings = &configuration.settings;
    Ok(json!({
        "files": files,
        "servers": servers?,
        "faulty": faulty,
        "shadowed": shadowed,
        "settings": {
            "listen": settings.listen.map(|address| address.to_string()),
            "workspace": settings.workspace,
        },
        "notices": configuration.notices,
    }))
}
