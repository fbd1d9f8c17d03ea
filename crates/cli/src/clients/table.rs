use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::Deserialize;

use super::document::Format;
use super::places::Places;

/// A program that uses MCP servers, and where it keeps them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Client {
    /// Name on the command line.
    pub(crate) id: String,
    /// Other names on the command line.
    #[serde(default)]
    pub(crate) aliases: Vec<String>,
    /// Name in texts.
    pub(crate) name: String,
    pub(crate) format: Format,
    /// Members that lead to the servers in a file.
    pub(crate) servers: Vec<String>,
    pub(crate) dialect: Dialect,
    pub(crate) variables: Variables,
    /// Unit of the time limit of a server.
    pub(crate) timeout: TimeUnit,
    /// Way in which a server at a URL gets our token; `None` if such servers are not documented.
    #[serde(default)]
    pub(crate) http: Option<TokenForm>,
    /// Member for the URL of a server.
    #[serde(default = "url_member")]
    pub(crate) url_member: String,
    /// Word for Streamable HTTP.
    #[serde(default = "http_type")]
    pub(crate) http_type: String,
    /// True if the client writes the transport of each server.
    #[serde(default)]
    pub(crate) writes_type: bool,
    /// Variable of the environment that names another place.
    #[serde(default, rename = "override")]
    pub(crate) place: Option<Place>,
    pub(crate) user: UserFiles,
    /// Files in a project.
    #[serde(default)]
    pub(crate) project: Vec<Location>,
    /// Source of these facts.
    #[cfg_attr(
        not(test),
        expect(
            dead_code,
            reason = "for readers of the table and of the documentation"
        )
    )]
    pub(crate) evidence: String,
}

/// Files of a user on each system; of several that exist, all are read and the first is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UserFiles {
    pub(crate) linux: Vec<Location>,
    pub(crate) macos: Vec<Location>,
    pub(crate) windows: Vec<Location>,
}

/// A file, and the members that lead to the servers in it if they are not the usual ones.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Location {
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) servers: Option<Vec<String>>,
}

/// Place that a variable of the environment names: a directory with this file in it, or a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    pub(crate) variable: String,
    #[serde(default)]
    pub(crate) file: Option<String>,
}

/// Form of the entry of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Dialect {
    /// `command`, `args`, `env`, or `url` and `headers`.
    Standard,
    Codex,
    #[serde(rename = "opencode")]
    OpenCode,
    #[serde(rename = "opencode_v2")]
    OpenCodeV2,
    Goose,
}

/// Variables in the values of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Variables {
    /// None: all text is taken as it is.
    None,
    /// `${VAR}` and `${VAR:-default}`.
    Dollar,
    /// `$VAR`, `${VAR}` and `${VAR:-default}`.
    Shell,
    /// `${env:VAR}`, and others such as `${workspaceFolder}`.
    Editor,
    /// `{env:VAR}` and `{file:path}`.
    Braces,
}

/// Unit of a time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TimeUnit {
    Milliseconds,
    Seconds,
}

/// Form of a token in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TokenForm {
    /// A variable of the environment stands for it.
    Variable,
    /// The token itself.
    Literal,
}

/// Kind of the files of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    User,
    Project,
}

/// A file of a client on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientFile {
    pub(crate) path: PathBuf,
    /// Members that lead to the servers.
    pub(crate) servers: Vec<String>,
}

/// All clients, in the order of the documentation.
pub(crate) fn all() -> &'static [Client] {
    static CLIENTS: OnceLock<Vec<Client>> = OnceLock::new();
    CLIENTS.get_or_init(|| {
        serde_json::from_str(include_str!("clients.json")).expect("the table of clients is tested")
    })
}

/// The client with this name on the command line.
pub(crate) fn find(name: &str) -> Option<&'static Client> {
    all()
        .iter()
        .find(|client| client.id == name || client.aliases.iter().any(|alias| alias == name))
}

impl Client {
    /// Files in which this client may have servers, whether they exist or not.
    pub(crate) fn files(&self, scope: Scope, places: &Places) -> Vec<ClientFile> {
        let locations = match scope {
            Scope::Project => &self.project,
            Scope::User => match places.system() {
                "macos" => &self.user.macos,
                "windows" => &self.user.windows,
                _ => &self.user.linux,
            },
        };
        let named = self.place.as_ref().and_then(|place| {
            let base = places.variable(&place.variable)?;
            Some(
                place
                    .file
                    .as_ref()
                    .map_or(base.clone(), |file| base.join(file)),
            )
        });
        let files = locations.iter().filter_map(|location| {
            let is_main = scope == Scope::User || location.path.starts_with("{home}");
            let path = match &named {
                Some(named) if is_main => named.clone(),
                _ => places.resolve(&location.path)?,
            };
            let servers = location.servers.as_ref().unwrap_or(&self.servers);
            let servers = servers
                .iter()
                .map(|member| places.fill_project(member))
                .collect();
            Some(ClientFile { path, servers })
        });
        let mut files: Vec<_> = files.collect();
        files.dedup();
        files
    }

    /// The file that `connect` writes: the first that exists, else the first. Files with the servers in an unusual
    /// place are of older versions, and only read.
    pub(crate) fn main_file(&self, places: &Places) -> Option<ClientFile> {
        let mut files = self.files(Scope::User, places);
        files.retain(|file| file.servers == self.servers);
        let found = files
            .iter()
            .position(|file| exists(&file.path))
            .unwrap_or(0);
        files.into_iter().nth(found)
    }
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn url_member() -> String {
    "url".to_owned()
}

fn http_type() -> String {
    "http".to_owned()
}
