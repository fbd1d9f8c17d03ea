use std::collections::BTreeMap;

use super::{Code, Finding};
use crate::config::ServerDefinition;
use crate::config::definition::Connection;
use crate::config::template::Template;

/// A server that a client starts or contacts itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClientUse {
    /// Name of the client for people.
    pub(crate) client: String,
    /// Name by which commands know the client.
    pub(crate) client_id: String,
    /// Name of the server in the files of the client.
    pub(crate) server: String,
    pub(crate) definition: ServerDefinition,
}

/// Finds programs that several clients start, each for itself. With Callgate there is one process for all.
///
/// Servers at a URL are shared anyway and not reported.
pub(crate) fn check_shared(uses: &[ClientUse]) -> Vec<Finding> {
    let mut by_program: BTreeMap<String, Vec<&ClientUse>> = BTreeMap::new();
    for used in uses {
        if let Some(key) = program_key(&used.definition) {
            by_program.entry(key).or_default().push(used);
        }
    }
    let mut findings = Vec::new();
    for uses in by_program.values() {
        let mut clients: Vec<(&str, &str)> = uses
            .iter()
            .map(|used| (used.client.as_str(), used.client_id.as_str()))
            .collect();
        clients.sort_unstable();
        clients.dedup();
        let [first, _, ..] = clients.as_slice() else {
            continue;
        };
        let names: Vec<&str> = clients.iter().map(|(name, _)| *name).collect();
        let server = uses.first().map_or("", |used| used.server.as_str());
        findings.push(Finding::new(
            Code::StartedTwice,
            server,
            format!("{} each start this server for themselves", names.join(" and ")),
            format!(
                "let Callgate run it once: `callgate import {id}`, then `callgate connect` for each client, and remove the server from their files",
                id = first.1
            ),
        ));
    }
    findings
}

/// Text that is equal for definitions that start the same program in the same way.
fn program_key(definition: &ServerDefinition) -> Option<String> {
    if !definition.enabled {
        return None;
    }
    let Connection::Command(command) = &definition.connection else {
        return None;
    };
    let words = std::iter::once(&command.command).chain(&command.args);
    let words: Vec<&str> = words.map(Template::as_str).collect();
    let mut env: Vec<String> = command
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    env.sort_unstable();
    let cwd = command.cwd.as_ref().map(Template::as_str);
    // Debug quotes each text, so that no two lists have the same form.
    Some(format!("{words:?} {env:?} {cwd:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(client: &str, server: &str, json: &str) -> ClientUse {
        ClientUse {
            client: client.to_owned(),
            client_id: client.to_lowercase(),
            server: server.to_owned(),
            definition: ServerDefinition::from_text(json).unwrap().0,
        }
    }

    #[test]
    fn a_program_of_two_clients_is_reported_once() {
        let findings = check_shared(&[
            used("Cursor", "fs", r#"{"command":"npx","args":["fs","."]}"#),
            used("Zed", "files", r#"{"command":"npx","args":["fs","."]}"#),
            used("Zed", "other", r#"{"command":"npx","args":["fs","/"]}"#),
            used("Zed", "same", r#"{"command":"npx","args":["fs","/"]}"#),
            used("Cursor", "web", r#"{"url":"https://mcp.example/mcp"}"#),
            used("Zed", "web", r#"{"url":"https://mcp.example/mcp"}"#),
        ]);
        let found: Vec<_> = findings
            .iter()
            .map(|finding| (finding.subject.as_str(), finding.problem.as_str()))
            .collect();
        assert_eq!(
            found,
            [("fs", "Cursor and Zed each start this server for themselves")]
        );
    }
}
