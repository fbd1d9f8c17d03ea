use std::path::{Path, PathBuf};

use callgate_mcp::wire::RawJson;
use serde::Serialize;

use crate::args::{ClientScope, Import};
use crate::clients::import_plan::{ImportPlan, Row, ServerReport};
use crate::clients::places::Places;
use crate::clients::servers;
use crate::clients::table::{self, Scope};
use crate::config::LoadOptions;
use crate::error::CommandError;
use crate::output;

/// Adds the servers of other clients to our configuration, or lists the clients that have some.
pub(crate) fn run(
    args: &Import,
    config: Option<&Path>,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let places = places();
    let scope = match args.scope {
        ClientScope::User => Scope::User,
        ClientScope::Project => Scope::Project,
    };
    let clients = match (&args.client, args.all) {
        (Some(name), _) => vec![
            table::find(name).ok_or_else(|| CommandError::usage(format!("no client `{name}`")))?,
        ],
        (None, true) => table::all().iter().collect(),
        (None, false) => return list(scope, &places, json),
    };
    let target = target(scope, config, data_dir)?;
    let mut plan = ImportPlan::new(target)?;
    for client in clients {
        match plan.add_client(client, scope, &places) {
            // One broken file does not hide the servers of the others.
            Err(error) if args.all => error.warn(&format!("{} is left out", client.name)),
            added => added?,
        }
    }
    if !args.dry_run {
        plan.write()?;
    }
    print(&plan, args, json)
}

/// Places of this user, with the variables that clients name their files by.
pub(super) fn places() -> Places {
    let variables = table::all()
        .iter()
        .filter_map(|client| client.place.as_ref());
    Places::of_this_user(variables.map(|place| place.variable.clone()))
}

/// The file of ours that the servers are added to.
pub(super) fn target(
    scope: Scope,
    config: Option<&Path>,
    data_dir: Option<&Path>,
) -> Result<PathBuf, CommandError> {
    let options = LoadOptions::new(config, data_dir)?;
    if let Some(config) = options.config {
        return Ok(config);
    }
    match scope {
        Scope::Project => Ok(options.project_file()),
        Scope::User => options.user_file().ok_or_else(|| {
            CommandError::usage("there is no place for the configuration: HOME is not set")
                .hint("set HOME, or name a file with --config FILE")
        }),
    }
}

/// Prints the servers and what became of them.
fn print(plan: &ImportPlan, args: &Import, json: bool) -> Result<(), CommandError> {
    if json {
        let rows: Vec<_> = plan.rows.iter().map(Row::report).collect();
        let report = Report {
            target: plan.target.to_string_lossy().into_owned(),
            written: !args.dry_run,
            servers: rows,
        };
        let report = RawJson::encode(&report).map_err(anyhow::Error::from)?;
        return Ok(output::json(&report)?);
    }
    let verb = if args.dry_run { "would add" } else { "added" };
    for row in &plan.rows {
        for line in row.lines(verb) {
            output::text(&line)?;
        }
    }
    let added = plan.added().count();
    let file = plan.target.display();
    match (added, args.dry_run) {
        (0, _) => output::note("nothing to import"),
        (added, true) => {
            output::note(&format!("{added} would be added to {file}"));
            let client = args.client.as_deref().unwrap_or("--all");
            let scope = if args.scope == ClientScope::Project {
                " --scope project"
            } else {
                ""
            };
            output::note(&format!(
                "hint: run `callgate import {client}{scope}` to add them"
            ));
        }
        (added, false) => {
            output::note(&format!("{added} added to {file}"));
            if let Some(secrets) = plan.secrets() {
                output::note(&format!("warning: {secrets}"));
            }
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct Report<'a> {
    target: String,
    written: bool,
    servers: Vec<ServerReport<'a>>,
}

/// Prints the clients that have files here, with the number of their servers.
fn list(scope: Scope, places: &Places, json: bool) -> Result<(), CommandError> {
    let mut rows = Vec::new();
    for client in table::all() {
        let files = client.files(scope, places).into_iter();
        let files: Vec<_> = files
            .map(|file| file.path)
            .filter(|path| path.exists())
            .collect();
        if files.is_empty() {
            continue;
        }
        let found = servers::of(client, scope, places);
        rows.push(ClientReport {
            client: &client.id,
            name: &client.name,
            servers: found.as_ref().ok().map(Vec::len),
            error: found.err().map(|error| error.with_hints()),
            files: files
                .iter()
                .map(|path| path.to_string_lossy().into_owned())
                .collect(),
        });
    }
    if json {
        let rows = RawJson::encode(&rows).map_err(anyhow::Error::from)?;
        return Ok(output::json(&rows)?);
    }
    if rows.is_empty() {
        output::note("no files of other clients were found");
        return Ok(());
    }
    let lines: Vec<_> = rows
        .iter()
        .map(|row| (row.client.to_owned(), row.describe()))
        .collect();
    output::table(&lines)?;
    output::note(
        "hint: run `callgate import CLIENT --dry-run` to see what would be added, or `callgate import --all`",
    );
    Ok(())
}

#[derive(Serialize)]
struct ClientReport<'a> {
    client: &'a str,
    name: &'a str,
    servers: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    files: Vec<String>,
}

impl ClientReport<'_> {
    fn describe(&self) -> String {
        let files = self.files.join(", ");
        match (self.servers, &self.error) {
            (Some(1), _) => format!("1 server in {files}"),
            (Some(count), _) => format!("{count} servers in {files}"),
            (None, Some(error)) => error.lines().next().unwrap_or_default().to_owned(),
            (None, None) => files,
        }
    }
}
