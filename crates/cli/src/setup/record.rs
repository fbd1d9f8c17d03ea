use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::clients::file;
use crate::clients::import_plan::ImportPlan;
use crate::config::ServerDefinition;
use crate::config::digest::sha256;
use crate::data_dir::DataDir;
use crate::error::CommandError;

/// Effects of `setup`. Each is recorded before it happens: what is recorded and did not happen is not taken back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SetupRecord {
    pub(crate) config: Option<ConfigChange>,
    /// Clients that were connected.
    pub(crate) clients: Vec<String>,
    /// True if the service was installed.
    pub(crate) service: bool,
}

/// Servers that were added to our configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ConfigChange {
    pub(crate) file: PathBuf,
    /// Text before; `None` if there was no file.
    pub(crate) before: Option<String>,
    /// Directories that were made for the file.
    pub(crate) directories: Vec<PathBuf>,
    /// Hash of the file as `setup` left it; `None` if the text before is not the one to restore.
    pub(crate) after: Option<String>,
    pub(crate) servers: Vec<AddedServer>,
}

/// A server that was added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AddedServer {
    pub(crate) name: String,
    /// Hash of its definition.
    pub(crate) definition: String,
}

/// Name of the record in the data directory.
const FILE: &str = "setup.json";

impl SetupRecord {
    /// The record of a data directory; an empty one if there is none.
    pub(crate) fn load(data_dir: &DataDir) -> Result<Self, CommandError> {
        let path = data_dir.file(FILE);
        let Some(bytes) = file::read(&path)? else {
            return Ok(Self::default());
        };
        serde_json::from_slice(&bytes).map_err(|error| {
            let message = format!("{} is damaged: {error}", path.display());
            CommandError::usage(message).hint(
                "remove it, and undo by `callgate disconnect CLIENT`, `callgate service uninstall` and by removing servers",
            )
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Stores the record for the user alone, or removes it if it is empty.
    pub(crate) fn store(&self, data_dir: &DataDir) -> Result<(), CommandError> {
        let path = data_dir.file(FILE);
        if self.is_empty() {
            return match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
                _ => Ok(()),
            };
        }
        data_dir.create()?;
        let before = file::read(&path)?;
        let json = serde_json::to_vec(self).map_err(anyhow::Error::from)?;
        file::replace(&path, before.as_deref(), &json)
    }
}

impl ConfigChange {
    /// The change by which `plan` will be carried out, after an earlier one if there was one.
    pub(crate) fn of(plan: &ImportPlan, earlier: Option<&Self>) -> Result<Self, CommandError> {
        let bytes = file::read(&plan.target)?;
        let text = match &bytes {
            Some(bytes) => Some(file::text(&plan.target, bytes)?.to_owned()),
            None => None,
        };
        let added = plan.added().map(|(name, definition)| AddedServer {
            name: name.as_str().to_owned(),
            definition: definition_hash(definition),
        });
        let Some(earlier) = earlier else {
            return Ok(Self {
                directories: file::missing_directories(&plan.target)?,
                file: plan.target.clone(),
                before: text,
                after: None,
                servers: added.collect(),
            });
        };
        let mut change = earlier.clone();
        change.servers.extend(added);
        Ok(change)
    }

    /// Remembers the file as it is now. After a change by others in between, the text before is not restored.
    pub(crate) fn seal(&mut self, is_continued: bool) -> Result<(), CommandError> {
        let bytes = file::read(&self.file)?;
        let hash = bytes.map(|bytes| sha256(&bytes).to_string());
        self.after = hash.filter(|_| is_continued);
        Ok(())
    }

    /// True if the file is as `setup` left it.
    pub(crate) fn is_as_left(&self, current: Option<&[u8]>) -> bool {
        let hash = current.map(|current| sha256(current).to_string());
        hash.is_some() && hash == self.after
    }
}

/// Hash of a definition, however it is written in its file.
pub(super) fn definition_hash(definition: &ServerDefinition) -> String {
    sha256(definition.to_json().as_str().as_bytes()).to_string()
}
