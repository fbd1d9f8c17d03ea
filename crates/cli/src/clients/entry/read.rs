use super::super::document::Node;
use super::super::table::{Client, ClientFile, Dialect};
use super::members::Members;
use super::variables::Origin;
use super::{codex, goose, opencode, standard};
use crate::config::definition::{Connection, ServerDefinition, StartTime, Timeouts};
use crate::file_replace::directory;

/// A server of a client as a definition of ours.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) definition: ServerDefinition,
    /// Settings that the definition leaves out, one line each.
    pub(crate) notes: Vec<String>,
}

/// An entry that cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// It is not a server, but a part of the client such as a built-in extension.
    NotAServer,
    /// The reason in one line.
    Because(String),
}

impl From<String> for Unusable {
    fn from(reason: String) -> Self {
        Self::Because(reason)
    }
}

impl From<&str> for Unusable {
    fn from(reason: &str) -> Self {
        Self::Because(reason.to_owned())
    }
}

/// Reads the entry of one server in a file.
pub(crate) fn read(
    client: &Client,
    file: &ClientFile,
    name: &str,
    node: &Node,
) -> Result<Entry, Unusable> {
    let origin = Origin {
        variables: client.variables,
        directory: directory(&file.path),
    };
    let mut members = Members::new(node, origin)?;
    let definition = match client.dialect {
        Dialect::Standard => standard::read(&mut members, client)?,
        Dialect::Codex => codex::read(&mut members)?,
        Dialect::OpenCode => opencode::read(&mut members, name)?,
        Dialect::OpenCodeV2 => opencode::read_v2(&mut members)?,
        Dialect::Goose => goose::read(&mut members)?,
    };
    check(&definition)?;
    Ok(Entry {
        definition,
        notes: members.notes(),
    })
}

/// Refuses a definition that the reader of our configuration refuses: in the file it would be a mistake.
fn check(definition: &ServerDefinition) -> Result<(), Unusable> {
    let Err(mistakes) = ServerDefinition::from_json(&definition.to_json()) else {
        return Ok(());
    };
    let first = mistakes.iter().next();
    Err(Unusable::Because(match first {
        Some(mistake) => mistake.message.clone(),
        None => "the entry has a mistake".to_owned(),
    }))
}

/// A definition with nothing but a connection.
pub(super) fn plain(connection: Connection) -> ServerDefinition {
    ServerDefinition {
        connection,
        enabled: true,
        timeouts: Timeouts::default(),
        allowed_tools: None,
        disabled_tools: Vec::new(),
        tools: std::collections::BTreeMap::new(),
        roots: Vec::new(),
        start: StartTime::Eager,
        idle_stop: None,
    }
}
