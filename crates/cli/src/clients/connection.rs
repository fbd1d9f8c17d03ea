use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use url::Url;

use super::document::Node;
use super::entry;
use super::entry::own::NAME;
use super::file;
use super::table::{Client, ClientFile};
use crate::config::definition::Connection;
use crate::config::digest::sha256;
use crate::data_dir::DataDir;
use crate::error::CommandError;

/// Effect of `connect` on the file of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConnectPlan {
    /// Our entry is there already.
    Connected,
    /// The file is written.
    Write {
        before: Option<Vec<u8>>,
        after: String,
        /// The bytes to restore, and whether there was a file; `None` keeps those of an earlier connect.
        backup: Option<Option<Vec<u8>>>,
    },
}

/// Effect of `disconnect` on the file of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DisconnectPlan {
    /// Our entry is not there.
    Absent,
    /// The file is as `connect` left it: its old bytes are restored.
    Restore { before: Vec<u8>, after: Vec<u8> },
    /// The file did not exist before, and is as `connect` left it.
    Remove { before: Vec<u8> },
    /// The file was changed since: only our entry is removed.
    RemoveEntry { before: Vec<u8>, after: String },
}

/// Our entry in the file of a client, as it is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Record {
    pub(crate) file: PathBuf,
    /// Members that lead to the servers.
    pub(crate) servers: Vec<String>,
    /// True if there was a file before; its bytes are in the backup.
    pub(crate) existed: bool,
    /// Directories that were made for the file.
    pub(crate) directories: Vec<PathBuf>,
    /// Hash of the file as `connect` left it.
    pub(crate) after: String,
}

/// Decides how our entry gets into a file. Nothing but the arguments is looked at.
pub(crate) fn plan_connect(
    client: &Client,
    file: &ClientFile,
    current: Option<&[u8]>,
    record: Option<&Record>,
    entry: &Node,
) -> Result<ConnectPlan, CommandError> {
    let text = file::text(&file.path, current.unwrap_or_default())?;
    let record = record.filter(|record| record.file == file.path);
    let failed = |error| not_editable(client, file, entry, &error);
    let root = client.format.parse(text).map_err(failed)?;
    let found = root.at(&file.servers).and_then(|servers| servers.get(NAME));
    if found.is_some_and(|found| found.to_json() == entry.to_json()) {
        return Ok(ConnectPlan::Connected);
    }
    if let Some(found) = found
        && record.is_none()
        && !is_ours(client, file, found)
    {
        let path = file.path.display();
        let message = format!(
            "{path}:{}: there is a server `{NAME}` that is not this program",
            found.line
        );
        return Err(CommandError::usage(message).hint(format!(
            "remove or rename it in {}, then run the same command again",
            client.name
        )));
    }
    let base = client
        .format
        .remove(text, &file.servers, NAME)
        .map_err(failed)?;
    let is_as_left = record.is_some_and(|record| is_as_left(record, current));
    let after = client
        .format
        .insert(base.as_deref().unwrap_or(text), &file.servers, NAME, entry);
    let after = after.map_err(failed)?;
    let original = || match base {
        Some(base) => Some(base.into_bytes()),
        None => current.map(<[u8]>::to_vec),
    };
    Ok(ConnectPlan::Write {
        before: current.map(<[u8]>::to_vec),
        after,
        backup: (!is_as_left).then(original),
    })
}

/// Decides how our entry gets out of a file. Nothing but the arguments is looked at.
pub(crate) fn plan_disconnect(
    client: &Client,
    file: &ClientFile,
    current: Option<&[u8]>,
    record: Option<(&Record, &[u8])>,
) -> Result<DisconnectPlan, CommandError> {
    let Some(current) = current else {
        return Ok(DisconnectPlan::Absent);
    };
    let before = current.to_vec();
    if let Some((record, backup)) = record
        && is_as_left(record, Some(current))
    {
        return Ok(match record.existed {
            true => DisconnectPlan::Restore {
                before,
                after: backup.to_vec(),
            },
            false => DisconnectPlan::Remove { before },
        });
    }
    let text = file::text(&file.path, current)?;
    let failed = |error: super::document::DocumentError| {
        let message = format!("cannot edit {}: {error}", file.path.display());
        CommandError::usage(message).hint(format!(
            "remove the entry `{}.{NAME}` by hand",
            file.servers.join(".")
        ))
    };
    let root = client.format.parse(text).map_err(failed)?;
    let Some(found) = root.at(&file.servers).and_then(|servers| servers.get(NAME)) else {
        return Ok(DisconnectPlan::Absent);
    };
    if record.is_none() && !is_ours(client, file, found) {
        return Ok(DisconnectPlan::Absent);
    }
    let Some(mut after) = client
        .format
        .remove(text, &file.servers, NAME)
        .map_err(failed)?
    else {
        return Ok(DisconnectPlan::Absent);
    };
    if let Some((_, backup)) = record {
        after = without_our_objects(client, file, after, backup);
    }
    Ok(DisconnectPlan::RemoveEntry { before, after })
}

/// The text without the objects around our entry that are empty now and were not there before.
fn without_our_objects(client: &Client, file: &ClientFile, text: String, backup: &[u8]) -> String {
    let backup = String::from_utf8_lossy(backup);
    let Ok(original) = client.format.parse(&backup) else {
        return text;
    };
    let mut text = text;
    let mut path = file.servers.as_slice();
    while let Some((name, parent)) = path.split_last() {
        let is_empty = client.format.parse(&text).is_ok_and(|root| {
            let members = root.at(path).and_then(Node::members);
            members.is_some_and(<[_]>::is_empty)
        });
        if !is_empty || original.at(path).is_some() {
            break;
        }
        match client.format.remove(&text, parent, name) {
            Ok(Some(edited)) => text = edited,
            _ => break,
        }
        path = parent;
    }
    text
}

fn is_as_left(record: &Record, current: Option<&[u8]>) -> bool {
    current.is_some_and(|current| sha256(current).as_str() == record.after)
}

/// True for an entry with our name that starts this program or uses a server on this machine.
fn is_ours(client: &Client, file: &ClientFile, found: &Node) -> bool {
    let Ok(entry) = entry::read(client, file, NAME, found) else {
        return false;
    };
    match entry.definition.connection {
        Connection::Command(command) => {
            let program = PathBuf::from(command.command.as_str());
            program.file_stem().is_some_and(|stem| stem == NAME)
        }
        Connection::Url(definition) => {
            let url = definition.url.as_str().parse::<Url>().ok();
            url.is_some_and(|url| {
                matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"))
            })
        }
    }
}

fn not_editable(
    client: &Client,
    file: &ClientFile,
    entry: &Node,
    error: &super::document::DocumentError,
) -> CommandError {
    let path = file.path.display();
    let message = match error.line {
        Some(line) => format!("cannot edit {path}:{line}: {}", error.message),
        None => format!("cannot edit {path}: {}", error.message),
    };
    let snippet = client.format.snippet(&file.servers, NAME, entry);
    CommandError::usage(format!(
        "{message}; the entry would be:\n{}",
        snippet.trim_end()
    ))
    .hint("correct the file and run the same command again, or add the entry by hand")
}

/// Records of the connections in our data directory.
#[derive(Debug, Clone)]
pub(crate) struct Records(PathBuf);

impl Records {
    pub(crate) fn of(data_dir: &DataDir) -> Self {
        Self(data_dir.file("clients"))
    }

    /// The record of a client and the bytes of its file before; `None` if it is not connected.
    pub(crate) fn load(&self, client: &Client) -> Result<Option<(Record, Vec<u8>)>, CommandError> {
        let path = self.path(client, "json");
        let Some(bytes) = file::read(&path)? else {
            return Ok(None);
        };
        let record: Record = serde_json::from_slice(&bytes).map_err(|error| {
            let message = format!("{} is damaged: {error}", path.display());
            CommandError::usage(message)
                .hint("remove it; then the entry of this program is all that `disconnect` removes")
        })?;
        let backup = file::read(&self.path(client, "backup"))?.unwrap_or_default();
        Ok(Some((record, backup)))
    }

    /// Stores a record, with a new backup if there is one.
    pub(crate) fn store(
        &self,
        client: &Client,
        record: &Record,
        backup: Option<&[u8]>,
    ) -> Result<(), CommandError> {
        DataDir::locate(Some(&self.0))?.create()?;
        // The backup is there before the record that speaks of it.
        if let Some(backup) = backup {
            self.write(client, "backup", backup)?;
        }
        let json = serde_json::to_vec(record).map_err(anyhow::Error::from)?;
        self.write(client, "json", &json)
    }

    /// Forgets a connection.
    pub(crate) fn remove(&self, client: &Client) -> Result<(), CommandError> {
        for kind in ["json", "backup"] {
            match std::fs::remove_file(self.path(client, kind)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error.into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn write(&self, client: &Client, kind: &str, bytes: &[u8]) -> Result<(), CommandError> {
        let path = self.path(client, kind);
        let before = file::read(&path)?;
        file::replace(&path, before.as_deref(), bytes)
    }

    fn path(&self, client: &Client, kind: &str) -> PathBuf {
        self.0.join(format!("{}.{kind}", client.id))
    }
}
