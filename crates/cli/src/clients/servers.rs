use std::path::PathBuf;

use super::entry::own::NAME;
use super::entry::{self, Entry, Unusable};
use super::file;
use super::places::Places;
use super::table::{Client, ClientFile, Scope};
use crate::error::CommandError;

/// A server in a file of a client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClientServer {
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    /// Line of the entry, from 1.
    pub(crate) line: usize,
    /// The server, or the reason why it cannot be used.
    pub(crate) entry: Result<Entry, String>,
}

/// Servers of a client, in the order of its files. Our own entry is not among them.
pub(crate) fn of(
    client: &Client,
    scope: Scope,
    places: &Places,
) -> Result<Vec<ClientServer>, CommandError> {
    let files = client.files(scope, places);
    let mut servers = Vec::new();
    for file in &files {
        if let Some(bytes) = file::read(&file.path)? {
            let text = file::text(&file.path, &bytes)?;
            servers.extend(in_text(client, file, text)?);
        }
    }
    Ok(servers)
}

/// Servers in the text of one file.
pub(crate) fn in_text(
    client: &Client,
    file: &ClientFile,
    text: &str,
) -> Result<Vec<ClientServer>, CommandError> {
    let path = file.path.display();
    let root = client.format.parse(text).map_err(|error| {
        let line = error
            .line
            .map_or_else(String::new, |line| format!("{line}:"));
        let format = client.format.name();
        CommandError::usage(format!(
            "{path}:{line} this is not {format}: {}",
            error.message
        ))
        .hint(format!(
            "correct the file, or move it away and start {} once",
            client.name
        ))
    })?;
    let Some(found) = root.at(&file.servers) else {
        return Ok(Vec::new());
    };
    let Some(members) = found.members() else {
        let member = file.servers.join(".");
        let message = format!("{path}:{}: `{member}` is not an object", found.line);
        return Err(CommandError::usage(message));
    };
    let mut servers = Vec::new();
    for (name, node) in members.iter().filter(|(name, _)| name != NAME) {
        let entry = match entry::read(client, file, name, node) {
            Ok(entry) => Ok(entry),
            Err(Unusable::NotAServer) => continue,
            Err(Unusable::Because(reason)) => Err(reason),
        };
        servers.push(ClientServer {
            name: name.clone(),
            file: file.path.clone(),
            line: node.line,
            entry,
        });
    }
    Ok(servers)
}
