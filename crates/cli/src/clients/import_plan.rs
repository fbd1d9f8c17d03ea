use std::collections::BTreeSet;
use std::path::PathBuf;

use callgate_hub::ServerName;
use serde::Serialize;

use super::file;
use super::places::Places;
use super::servers::{self, ClientServer};
use super::table::{Client, Scope};
use crate::config::definition::Connection;
use crate::config::secret_text::is_secret;
use crate::config::{ServerDefinition, edit, read_file};
use crate::definition_text;
use crate::error::CommandError;
use crate::visible::visible_line;

/// Servers to add to a file, and those that are not added.
pub(crate) struct ImportPlan {
    pub(crate) target: PathBuf,
    /// Names that have a definition: the first one is used.
    known: BTreeSet<String>,
    pub(crate) rows: Vec<Row>,
}

/// A server of a client and what becomes of it.
pub(crate) struct Row {
    pub(crate) client: &'static Client,
    pub(crate) server: ClientServer,
    fate: Fate,
}

enum Fate {
    Added(ServerName),
    /// Another definition has the name.
    Shadowed,
    Skipped(String),
}

impl ImportPlan {
    /// A plan without servers yet.
    pub(crate) fn new(target: PathBuf) -> Result<Self, CommandError> {
        let known = match file::read(&target)? {
            Some(bytes) => {
                let content = read_file::read(file::text(&target, &bytes)?);
                let content = content.map_err(|mistakes| mistakes.in_file(&target))?;
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
            known,
            rows: Vec::new(),
        })
    }

    /// Adds the servers in the files of a client.
    pub(crate) fn add_client(
        &mut self,
        client: &'static Client,
        scope: Scope,
        places: &Places,
    ) -> Result<(), CommandError> {
        let found = servers::of(client, scope, places)?;
        found
            .into_iter()
            .for_each(|server| self.add(client, server));
        Ok(())
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

    /// The servers that are added.
    pub(crate) fn added(&self) -> impl Iterator<Item = (&ServerName, &ServerDefinition)> {
        self.rows.iter().filter_map(Row::added)
    }

    /// A warning about the secrets that are written out in the added servers; `None` if there are none.
    pub(crate) fn secrets(&self) -> Option<String> {
        let mut names = Vec::new();
        for (server, definition) in self.added() {
            let pairs = match &definition.connection {
                Connection::Command(command) => &command.env,
                Connection::Url(url) => &url.headers,
            };
            let secret = pairs.iter().filter(|(name, value)| is_secret(name, value));
            names.extend(secret.map(|(name, _)| format!("`{name}` of `{server}`")));
        }
        (!names.is_empty()).then(|| {
            format!(
                "these values look like secrets, and are written to {} as they are: {}; a variable such as '${{KEY}}' in their place takes them from the environment",
                self.target.display(),
                names.join(", ")
            )
        })
    }

    /// Adds the servers to the file.
    pub(crate) fn write(&self) -> Result<(), CommandError> {
        for (name, definition) in self.added() {
            edit::set_server(&self.target, name, definition)?;
        }
        Ok(())
    }
}

impl Row {
    /// Name and definition of a server that is added.
    pub(crate) fn added(&self) -> Option<(&ServerName, &ServerDefinition)> {
        match (&self.fate, &self.server.entry) {
            (Fate::Added(name), Ok(entry)) => Some((name, &entry.definition)),
            _ => None,
        }
    }

    /// True if another definition has the name.
    pub(crate) fn is_shadowed(&self) -> bool {
        matches!(self.fate, Fate::Shadowed)
    }

    /// Lines about the server without its secrets; `verb` is for one that is added.
    pub(crate) fn lines(&self, verb: &str) -> Vec<String> {
        let name = visible_line(&self.server.name);
        let line = match (&self.fate, &self.server.entry) {
            (Fate::Added(_), Ok(entry)) => {
                format!("{verb} {name}: {}", described(&entry.definition))
            }
            (Fate::Shadowed, _) => format!(
                "shadowed {name}: there is a definition with this name already, which is kept"
            ),
            (Fate::Skipped(reason), _) | (Fate::Added(_), Err(reason)) => {
                let (file, line) = (self.server.file.display(), self.server.line);
                format!("skipped {name}: {reason} ({file}:{line})")
            }
        };
        let notes = self.notes().iter().map(|note| format!("  {note}"));
        let lines = [line].into_iter().chain(notes);
        lines.map(|line| visible_line(&line)).collect()
    }

    fn notes(&self) -> &[String] {
        match (&self.fate, &self.server.entry) {
            (Fate::Added(_), Ok(entry)) => &entry.notes,
            _ => &[],
        }
    }

    /// The same for a program.
    pub(crate) fn report(&self) -> ServerReport<'_> {
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
            transport: definition.map(ServerDefinition::transport),
            target: definition.map(definition_text::target),
            notes: self.notes(),
            file: self.server.file.to_string_lossy().into_owned(),
            line: self.server.line,
        }
    }
}

/// A server of a client and what becomes of it, for a program.
#[derive(Debug, Serialize)]
pub(crate) struct ServerReport<'a> {
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

/// Transport and target of a server, with the names of its secrets and not their values.
pub(crate) fn described(definition: &ServerDefinition) -> String {
    let (transport, target) = (definition.transport(), definition_text::target(definition));
    let names = definition_text::names(definition);
    let names = match names.is_empty() {
        true => String::new(),
        false => format!(" ({})", names.join(", ")),
    };
    let state = if definition.enabled {
        ""
    } else {
        ", turned off"
    };
    format!("{transport} {target}{names}{state}")
}
