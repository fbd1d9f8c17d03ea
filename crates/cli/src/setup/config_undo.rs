use callgate_hub::ServerName;

use super::record::{ConfigChange, definition_hash};
use crate::clients::file;
use crate::config::{edit, read_file};
use crate::error::CommandError;

/// Effect of an undo on our configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConfigUndo {
    /// There is no file.
    Absent,
    /// The file is as `setup` left it: its old text is restored.
    Restore,
    /// The file is as `setup` left it, and there was none before.
    Remove,
    /// The file was changed since: the servers that are as `setup` added them are removed.
    RemoveServers {
        removed: Vec<ServerName>,
        /// Servers that were changed since.
        kept: Vec<String>,
    },
}

/// Decides how our configuration gets rid of the servers that `setup` added.
pub(crate) fn plan(
    change: &ConfigChange,
    current: Option<&[u8]>,
) -> Result<ConfigUndo, CommandError> {
    let Some(current) = current else {
        return Ok(ConfigUndo::Absent);
    };
    if change.is_as_left(Some(current)) {
        return Ok(match change.before {
            Some(_) => ConfigUndo::Restore,
            None => ConfigUndo::Remove,
        });
    }
    let content = read_file::read(file::text(&change.file, current)?);
    let content = content.map_err(|mistakes| mistakes.in_file(&change.file))?;
    let (mut removed, mut kept) = (Vec::new(), Vec::new());
    for added in &change.servers {
        let mut servers = content.servers.iter();
        let found = servers.find(|(name, _)| name.as_str() == added.name);
        match found {
            Some((name, server)) if definition_hash(server) == added.definition => {
                removed.push(name.clone());
            }
            Some((name, _)) => kept.push(name.as_str().to_owned()),
            None => {}
        }
    }
    Ok(ConfigUndo::RemoveServers { removed, kept })
}

/// Carries out a plan for the file as it was looked at.
pub(crate) fn carry_out(
    change: &ConfigChange,
    plan: &ConfigUndo,
    current: Option<&[u8]>,
) -> Result<(), CommandError> {
    match plan {
        ConfigUndo::Absent => Ok(()),
        ConfigUndo::Restore => {
            let before = change.before.as_deref().unwrap_or_default();
            file::replace(&change.file, current, before.as_bytes())
        }
        ConfigUndo::Remove => {
            let current = current.unwrap_or_default();
            file::remove(&change.file, current, &change.directories)
        }
        ConfigUndo::RemoveServers { removed, .. } => {
            for name in removed {
                edit::remove_server(&change.file, name)?;
            }
            Ok(())
        }
    }
}
