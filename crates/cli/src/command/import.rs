use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use callgate_hub::ServerName;
use callgate_mcp::wire::RawJson;
use serde::Serialize;

use crate::args::{ClientScope, Import};
use crate::clients::places::Places;
use crate::clients::servers::{self, ClientServer};
use crate::clients::table::{self, Client, Scope};
use crate::clients::{file, masked};
use crate::config::{LoadOptions, edit, read_file};
use crate::error::CommandError;
use crate::output;
use crate::visible::visible_line;

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
    let mut plan = Plan::new(&target, args.dry_run)?;
    for client in clients {
        match servers::of(client, scope, &places) {
            Ok(found) => found
                .into_iter()
                .for_each(|server| plan.add(client, server)),
            // One broken file does not hide the servers of the others.
            Err(error) if args.all => error.warn(&format!("{} is left out", client.name)),
            Err(error) => return Err(error),
        }
    }
    if !args.dry_run {
        plan.write()?;
    }
    plan.print(args, json)
}

/// Places of this user, with the variables that clients name their files by.
pub(super) fn places() -> Places {
    let variables = table::all()
        .iter()
        .filter_map(|client| client.place.as_ref());
    Places::of_this_user(variables.map(|place| place.variable.clone()))
}

/// The file of ours that the servers are added to.
fn target(
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

/// Servers to add to a file, and those that are not added.
struct Plan<'t> {
    target: &'t Path,
    is_dry: bool,
    /// Names that have a definition: the first one is used.
    known: BTreeSet<String>,
    rows: Vec<Row>,
}

/// A server of a client and what becomes of it.
struct Row {
    client: &'static Client,
    server: ClientServer,
    fate: Fate,
}

enum Fate {
    Added(ServerName),
    /// Another definition has the name.
    Shadowed,
    Skipped(String),
}

impl<'t> Plan<'t> {
    fn new(target: &'t Path, is_dry: bool) -> Result<Self, CommandError> {
        let known = match file::read(target)? {
            Some(bytes) => {
                let content = read_file::read(file::text(target, &bytes)?);
                let content = content.map_err(|mistakes| mistakes.in_file(target))?;
                content
                    .servers
                    .iter()
                    .map(|(name, _)| name.as_str().to_owned())
                    .collect()
            }
            None => BTreeSet::new(),
        };
        Ok(Self {
            target,
            is_dry,
            known,
            rows: Vec::new(),
        })
    }

    fn add(&mut self, client: &'static Client, server: ClientServer) {
        let fate = match (&server.entry, ServerName::new(&server.name)) {
            (Err(reason), _) => Fate::Skipped(reason.clone()),
            (Ok(_), Err(error)) => Fate::Skipped(error.to_string()),
            (Ok(_), Ok(_)) if self.known.contains(&server.name) => Fate::Shadowed,
            (Ok(_), Ok(name)) => Fate::Added(name),
        };
        if matches!(fate, Fate::Added(_)) {
            self.known.insert(server.name.clone());
        }
        self.rows.push(Row {
            client,
            server,
            fate,
        });
    }

    fn write(&self) -> Result<(), CommandError> {
        for row in &self.rows {
            if let (Fate::Added(name), Ok(entry)) = (&row.fate, &row.server.entry) {
                edit::set_server(self.target, name, &entry.definition)?;
            }
        }
        Ok(())
    }

    fn print(&self, args: &Import, json: bool) -> Result<(), CommandError> {
        if json {
            let rows: Vec<_> = self.rows.iter().map(Row::report).collect();
            let report = Report {
                target: self.target.to_string_lossy().into_owned(),
                written: !self.is_dry,
                servers: rows,
            };
            let report = RawJson::encode(&report).map_err(anyhow::Error::from)?;
            return Ok(output::json(&report)?);
        }
        for row in &self.rows {
            row.print(self.is_dry)?;
        }
        let added = self
            .rows
            .iter()
            .filter(|row| matches!(row.fate, Fate::Added(_)))
            .count();
        let file = self.target.display();
        match (added, self.is_dry) {
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
            (added, false) => output::note(&format!("{added} added to {file}")),
        }
        Ok(())
    }
}

impl Row {
    fn print(&self, is_dry: bool) -> Result<(), CommandError> {
        let name = visible_line(&self.server.name);
        let line = match (&self.fate, &self.server.entry) {
            (Fate::Added(_), Ok(entry)) => {
                let what = if is_dry { "would add" } else { "added" };
                let definition = &entry.definition;
                let (transport, target) =
                    (masked::transport(definition), masked::target(definition));
                let names = masked::names(definition);
                let names = match names.is_empty() {
                    true => String::new(),
                    false => format!(" ({})", names.join(", ")),
                };
                let state = if definition.enabled {
                    ""
                } else {
                    ", turned off"
                };
                format!("{what} {name}: {transport} {target}{names}{state}")
            }
            (Fate::Shadowed, _) => format!(
                "shadowed {name}: there is a definition with this name already, which is kept"
            ),
            (Fate::Skipped(reason), _) => {
                let (file, line) = (self.server.file.display(), self.server.line);
                format!("skipped {name}: {reason} ({file}:{line})")
            }
            (Fate::Added(_), Err(_)) => return Ok(()),
        };
        output::text(&visible_line(&line))?;
        for note in self.notes() {
            output::text(&visible_line(&format!("  {note}")))?;
        }
        Ok(())
    }

    fn notes(&self) -> &[String] {
        match (&self.fate, &self.server.entry) {
            (Fate::Added(_), Ok(entry)) => &entry.notes,
            _ => &[],
        }
    }

    fn report(&self) -> ServerReport<'_> {
        let definition = self
            .server
            .entry
            .as_ref()
            .ok()
            .map(|entry| &entry.definition);
        let (action, reason) = match &self.fate {
            Fate::Added(_) => ("add", None),
            Fate::Shadowed => ("shadowed", None),
            Fate::Skipped(reason) => ("skip", Some(reason.as_str())),
        };
        ServerReport {
            client: &self.client.id,
            name: &self.server.name,
            action,
            reason,
            transport: definition.map(masked::transport),
            target: definition.map(masked::target),
            notes: self.notes(),
            file: self.server.file.to_string_lossy().into_owned(),
            line: self.server.line,
        }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    target: String,
    written: bool,
    servers: Vec<ServerReport<'a>>,
}

#[derive(Serialize)]
struct ServerReport<'a> {
    client: &'a str,
    name: &'a str,
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
    file: String,
    line: usize,
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
