//! The layers of configuration files, nearest first.

use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use callgate_hub::{Naming, ServerName};

use super::definition::ServerDefinition;
use super::digest::{ContentHash, sha256};
use super::places::{LoadOptions, Scope};
use super::read_file::{self, FileContent};
use super::text::MAX_BYTES;
use super::trust::TrustStore;
use crate::error::CommandError;
use crate::output;

/// The servers and settings of all files that apply here.
#[derive(Debug, Clone, Default)]
pub(crate) struct Configuration {
    /// Servers, in the order of the files and within them. Each name is there once.
    pub(crate) servers: Vec<ConfiguredServer>,
    /// Definitions that are not used, because a nearer file has the same name.
    pub(crate) shadowed: Vec<ShadowedServer>,
    pub(crate) settings: Settings,
    /// Files that were read, nearest first.
    pub(crate) files: Vec<ConfigFile>,
    /// Remarks for the user, one line each.
    pub(crate) notices: Vec<String>,
}

/// A server of the configuration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConfiguredServer {
    pub(crate) name: ServerName,
    pub(crate) definition: ServerDefinition,
    pub(crate) origin: Origin,
    /// False for a server of a project file that the user has not trusted: it is not to be started or contacted.
    pub(crate) trusted: bool,
}

/// File of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) path: PathBuf,
    pub(crate) scope: Scope,
}

/// A definition that is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShadowedServer {
    pub(crate) name: ServerName,
    pub(crate) origin: Origin,
    /// File of the definition that is used.
    pub(crate) by: Origin,
}

/// A configuration file that was read.
#[derive(Debug, Clone)]
pub(crate) struct ConfigFile {
    pub(crate) origin: Origin,
    pub(crate) content: FileContent,
    pub(crate) hash: ContentHash,
    pub(crate) trusted: bool,
    /// Reason why the file has no content here.
    pub(crate) problem: Option<String>,
}

/// Settings that are not about one server. Those of files that are not trusted are left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Settings {
    pub(crate) naming: Option<Naming>,
    /// Address of `serve`.
    pub(crate) listen: Option<SocketAddr>,
    /// Directory of the workspace tools.
    pub(crate) workspace: Option<PathBuf>,
}

/// Reads the configuration. Nothing is started, contacted or asked.
///
/// # Errors
/// A file cannot be read or has a mistake.
pub(crate) fn load(options: &LoadOptions) -> Result<Configuration, CommandError> {
    let trust = TrustStore::open(options.data_dir.as_deref());
    let mut files = Vec::new();
    for origin in origins(options) {
        files.extend(read(origin, &trust)?);
    }
    let mut configuration = merge(files, options);
    configuration.notices.extend(trust.notice());
    for unused in options.unused_user_files() {
        if options.config.is_none() {
            configuration.notices.push(format!(
                "{} is not used, because there is another file of the user beside it",
                unused.display()
            ));
        }
    }
    Ok(configuration)
}

/// Files to read, nearest first.
fn origins(options: &LoadOptions) -> Vec<Origin> {
    let origin = |path, scope| Origin { path, scope };
    if let Some(path) = &options.config {
        return vec![origin(path.clone(), Scope::Flag)];
    }
    let project = options.project_files().into_iter();
    let user = options.user_file().into_iter();
    project
        .map(|path| origin(path, Scope::Project))
        .chain(user.map(|path| origin(path, Scope::User)))
        .collect()
}

/// Reads a file; `None` if there is none and it need not be there.
///
/// A file that is not trusted cannot fail a command: else any project could.
fn read(origin: Origin, trust: &TrustStore) -> Result<Option<ConfigFile>, CommandError> {
    let path = &origin.path;
    let is_project = origin.scope == Scope::Project;
    let unread = |error: CommandError| ConfigFile {
        origin: origin.clone(),
        content: FileContent::default(),
        hash: sha256(b""),
        trusted: false,
        problem: Some(error.with_hints().replace('\n', "; ")),
    };
    let bytes = match read_bytes(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && origin.scope != Scope::Flag => {
            return Ok(None);
        }
        Err(error) => {
            let error = anyhow!(error).context(format!("cannot read {}", path.display()));
            let error = CommandError::from(error).hint("check the path and its permissions");
            return match is_project {
                true => Ok(Some(unread(error))),
                false => Err(error),
            };
        }
        Ok(bytes) => bytes,
    };
    let hash = sha256(&bytes);
    let trusted = !is_project || trust.contains(path, &hash);
    match parse(path, bytes) {
        Ok(content) => Ok(Some(ConfigFile {
            origin,
            content,
            hash,
            trusted,
            problem: None,
        })),
        Err(error) if trusted => Err(error),
        Err(error) => Ok(Some(unread(error))),
    }
}

fn parse(path: &Path, bytes: Vec<u8>) -> Result<FileContent, CommandError> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = error.as_bytes().get(..error.utf8_error().valid_up_to());
        let lines = before.unwrap_or_default().iter();
        let line = 1 + lines.filter(|byte| **byte == b'\n').count();
        CommandError::from(anyhow!("{}:{line}: this is not UTF-8", path.display()))
            .hint("save the file as UTF-8")
    })?;
    read_file::read(&text).map_err(|mistakes| mistakes.in_file(path))
}

fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    // The reader reports a file that is too large.
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The first definition of a name is used. A file that is not trusted hides nothing of a trusted one: else any
/// project could turn off a server of the user.
fn merge(files: Vec<ConfigFile>, options: &LoadOptions) -> Configuration {
    let mut configuration = Configuration::default();
    for file in files.iter().filter(|file| file.trusted) {
        configuration.add_settings(file, options);
        configuration.add_servers(file);
    }
    for file in files.iter().filter(|file| !file.trusted) {
        configuration.add_servers(file);
        configuration.notices.push(untrusted(file));
    }
    for file in &files {
        let path = file.origin.path.display();
        let notices = file.content.notices().into_iter();
        let notices = notices.map(|notice| format!("{path}: {notice}"));
        configuration.notices.extend(notices);
    }
    for hidden in &configuration.shadowed {
        let (name, by) = (&hidden.name, hidden.by.path.display());
        let path = hidden.origin.path.display();
        configuration.notices.push(format!(
            "{path}: the server `{name}` is not used, because {by} defines it too"
        ));
    }
    configuration.files = files;
    configuration
}

/// Notice about a file that is not trusted.
fn untrusted(file: &ConfigFile) -> String {
    let path = &file.origin.path;
    if let Some(problem) = &file.problem {
        return format!("{} is not used: {problem}", path.display());
    }
    format!(
        "{} is not trusted, so its servers are not used; run `{}` to see and trust them",
        path.display(),
        trust_command(path)
    )
}

/// Command that trusts a file.
pub(crate) fn trust_command(path: &Path) -> String {
    format!(
        "callgate config trust {}",
        output::argument(&path.to_string_lossy())
    )
}

impl Configuration {
    /// The server with this name.
    pub(crate) fn server(&self, name: &str) -> Option<&ConfiguredServer> {
        self.servers
            .iter()
            .find(|server| server.name.as_str() == name)
    }

    /// Files that the user has not trusted.
    pub(crate) fn untrusted_files(&self) -> impl Iterator<Item = &ConfigFile> {
        self.files.iter().filter(|file| !file.trusted)
    }

    fn add_settings(&mut self, file: &ConfigFile, options: &LoadOptions) {
        let written = &file.content.settings;
        let settings = &mut self.settings;
        settings.naming = settings.naming.or(written.naming);
        settings.listen = settings.listen.or(written.listen);
        if let (None, Some(path)) = (&settings.workspace, &written.workspace) {
            let directory = file.origin.path.parent().unwrap_or(Path::new("."));
            let home = options.home.as_deref();
            settings.workspace = Some(super::template::path(path, directory, home));
        }
    }

    fn add_servers(&mut self, file: &ConfigFile) {
        for (name, definition) in &file.content.servers {
            if let Some(used) = self.server(name.as_str()) {
                let shadowed = ShadowedServer {
                    name: name.clone(),
                    origin: file.origin.clone(),
                    by: used.origin.clone(),
                };
                self.shadowed.push(shadowed);
                continue;
            }
            self.servers.push(ConfiguredServer {
                name: name.clone(),
                definition: definition.clone(),
                origin: file.origin.clone(),
                trusted: file.trusted,
            });
        }
    }
}

impl ConfiguredServer {
    /// Refuses a server of a file that is not trusted.
    pub(crate) fn check_trust(&self) -> Result<(), CommandError> {
        if self.trusted {
            return Ok(());
        }
        let (name, path) = (&self.name, &self.origin.path);
        let message = format!(
            "the server `{name}` is in {}, which is not trusted",
            path.display()
        );
        let hint = format!("run `{}` to see and trust its servers", trust_command(path));
        Err(CommandError::usage(message).hint(hint))
    }

    /// Hash of the definition and of the place that its paths start at. Values of variables are not part of it.
    pub(crate) fn definition_hash(&self) -> ContentHash {
        let directory = self.origin.path.parent().unwrap_or(Path::new(""));
        let json = self.definition.to_json();
        let text = format!("{}\0{}", directory.display(), json.as_str());
        sha256(text.as_bytes())
    }
}
