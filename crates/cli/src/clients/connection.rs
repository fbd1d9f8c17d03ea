use std::path::{Path, PathBuf};

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
        /// True if an entry of this program is there, which is replaced.
        replaces: bool,
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
    /// Only our entry is removed, or replaced by the one that was there before.
    Entry {
        before: Vec<u8>,
        after: String,
        change: EntryChange,
    },
}

/// Effect of `disconnect` on our entry alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryChange {
    /// The file was changed since `connect`.
    Removed,
    /// The file was changed since `connect`, which had replaced an entry.
    Replaced,
    /// The bytes of the file before are not known.
    RemovedWithoutBackup,
}

impl EntryChange {
    /// State for a program.
    pub(crate) fn state(self) -> &'static str {
        match self {
            Self::Removed | Self::RemovedWithoutBackup => "entry_removed",
            Self::Replaced => "entry_restored",
        }
    }

    /// Outcome for the file at `path`; `done` is `is` or `would be`.
    pub(crate) fn text(self, path: &Path, done: &str) -> String {
        let path = path.display();
        match self {
            Self::Removed => {
                format!("{path} was changed since, so only our entry {done} removed")
            }
            Self::Replaced => format!(
                "{path} was changed since, so only our entry {done} replaced by the one that was there before"
            ),
            Self::RemovedWithoutBackup => format!(
                "only our entry {done} removed from {path}, since its text before is not known"
            ),
        }
    }
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

/// A record, and the bytes of the file before if they are still there.
pub(crate) type Remembered = (Record, Option<Vec<u8>>);

/// Decides how our entry gets into a file. Nothing but the arguments is looked at.
pub(crate) fn plan_connect(
    client: &Client,
    file: &ClientFile,
    current: Option<&[u8]>,
    remembered: Option<&Remembered>,
    entry: &Node,
) -> Result<ConnectPlan, CommandError> {
    let text = file::text(&file.path, current.unwrap_or_default())?;
    let remembered = remembered.filter(|(record, _)| record.file == file.path);
    let failed = |error| not_editable(client, file, entry, &error);
    let root = client.format.parse(text).map_err(failed)?;
    let found = root.at(&file.servers).and_then(|servers| servers.get(NAME));
    if found.is_some_and(|found| found.to_json() == entry.to_json()) {
        return Ok(ConnectPlan::Connected);
    }
    if let Some(found) = found
        && remembered.is_none()
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
    let is_as_left = remembered.is_some_and(|(record, _)| is_as_left(record, current));
    let after = client
        .format
        .insert(base.as_deref().unwrap_or(text), &file.servers, NAME, entry);
    let after = after.map_err(failed)?;
    let backup = match (remembered, base) {
        _ if is_as_left => None,
        // The entry is of an earlier connect: the text to restore is the one without it.
        (Some((_, backup)), Some(base)) => {
            let (base, _) = with_earlier_entry(client, file, base, backup.as_deref());
            Some(Some(base.into_bytes()))
        }
        // An entry that this program does not remember is of the user, and comes back.
        _ => Some(current.map(<[u8]>::to_vec)),
    };
    Ok(ConnectPlan::Write {
        before: current.map(<[u8]>::to_vec),
        after,
        backup,
        replaces: found.is_some(),
    })
}

/// Decides how our entry gets out of a file. Nothing but the arguments is looked at.
pub(crate) fn plan_disconnect(
    client: &Client,
    file: &ClientFile,
    current: Option<&[u8]>,
    remembered: Option<&Remembered>,
) -> Result<DisconnectPlan, CommandError> {
    let Some(current) = current else {
        return Ok(DisconnectPlan::Absent);
    };
    let before = current.to_vec();
    if let Some((record, backup)) = remembered
        && is_as_left(record, Some(current))
    {
        match (record.existed, backup) {
            (true, Some(backup)) => {
                let after = backup.clone();
                return Ok(DisconnectPlan::Restore { before, after });
            }
            (false, _) => return Ok(DisconnectPlan::Remove { before }),
            // The backup was lost: only our entry is known not to be of the user.
            (true, None) => {}
        }
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
    if remembered.is_none() && !is_ours(client, file, found) {
        return Ok(DisconnectPlan::Absent);
    }
    let Some(after) = client
        .format
        .remove(text, &file.servers, NAME)
        .map_err(failed)?
    else {
        return Ok(DisconnectPlan::Absent);
    };
    let backup = remembered.and_then(|(_, backup)| backup.as_deref());
    let (after, change) = match with_earlier_entry(client, file, after, backup) {
        (after, true) => (after, EntryChange::Replaced),
        (after, false) => match (remembered, backup) {
            (Some((record, _)), None) if record.existed => {
                (after, EntryChange::RemovedWithoutBackup)
            }
            (Some(_), _) => {
                let backup = backup.unwrap_or_default();
                let after = without_our_objects(client, file, after, backup);
                (after, EntryChange::Removed)
            }
            (None, _) => (after, EntryChange::Removed),
        },
    };
    Ok(DisconnectPlan::Entry {
        before,
        after,
        change,
    })
}

/// A text without our entry, with the entry of our name that `connect` has replaced; true if there was one.
fn with_earlier_entry(
    client: &Client,
    file: &ClientFile,
    text: String,
    backup: Option<&[u8]>,
) -> (String, bool) {
    let inserted = (|| {
        let root = client.format.parse(str::from_utf8(backup?).ok()?).ok()?;
        let entry = root.at(&file.servers)?.get(NAME)?;
        let inserted = client.format.insert(&text, &file.servers, NAME, entry);
        inserted.ok()
    })();
    let is_inserted = inserted.is_some();
    (inserted.unwrap_or(text), is_inserted)
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

    /// The record of a client; `None` if it is not connected.
    pub(crate) fn load(&self, client: &Client) -> Result<Option<Remembered>, CommandError> {
        let path = self.path(client, "json");
        let Some(bytes) = file::read(&path)? else {
            return Ok(None);
        };
        let record: Record = serde_json::from_slice(&bytes).map_err(|error| {
            let message = format!("{} is damaged: {error}", path.display());
            CommandError::usage(message)
                .hint("remove it; then the entry of this program is all that `disconnect` removes")
        })?;
        let backup = file::read(&self.path(client, "backup"))?;
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
