//! The layers of configuration files, nearest first.

use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use callgate_hub::{Naming, ServerName};

use super::definition::ServerDefinition;
use super::digest::{ContentHash, sha256};
use super::mistake::{Mistake, Mistakes};
use super::places::{LoadOptions, PlacedFile, Scope};
use super::read_file::{self, FileContent, MaxText};
use super::text::{MAX_BYTES, whole};
use super::trust::TrustStore;
use crate::error::CommandError;
use crate::output;
use crate::suggestion::closest;
use crate::visible::visible_line;

/// The servers and settings of all files that apply here.
#[derive(Debug, Clone, Default)]
pub(crate) struct Configuration {
    /// Servers, in the order of the files and within them. Each name is there once.
    pub(crate) servers: Vec<ConfiguredServer>,
    /// Servers that cannot be used, because their entries have mistakes.
    pub(crate) faulty: Vec<FaultyServer>,
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
    /// Other servers of the configuration whose names begin with that of this one and `_`. Tools of both can have the
    /// same name for agents.
    pub(crate) neighbors: Vec<ServerName>,
}

/// A server whose entry has mistakes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FaultyServer {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    pub(crate) mistakes: Mistakes,
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
    /// Limit of the text of a result.
    pub(crate) max_text: Option<MaxText>,
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
    for PlacedFile { path, scope } in options.files() {
        files.extend(read(Origin { path, scope }, &trust)?);
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

/// Reads a file; `None` if there is none and it need not be there.
///
/// A file that is not trusted cannot fail a command: else any project could.
fn read(origin: Origin, trust: &TrustStore) -> Result<Option<ConfigFile>, CommandError> {
    let path = &origin.path;
    let is_project = origin.scope == Scope::Project;
    let unread = |error: CommandError| ConfigFile {
        origin: origin.clone(),
        content: FileContent::default(),
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
    let read = match trusted {
        true => read_file::read_usable,
        false => read_file::read,
    };
    match parse(bytes, read).map_err(|mistakes| mistakes.in_file(path)) {
        Ok(content) => Ok(Some(ConfigFile {
            origin,
            content,
            trusted,
            problem: None,
        })),
        Err(error) if trusted => Err(error),
        Err(error) => Ok(Some(unread(error))),
    }
}

/// Reads a file that must be there, for its content and the hash of its bytes.
pub(crate) fn parse_file(path: &Path) -> Result<(FileContent, ContentHash), Mistakes> {
    let bytes = read_bytes(path).map_err(|error| {
        Mistakes::from(Mistake {
            hint: Some("check its path and its permissions".to_owned()),
            ..whole(format!("the file cannot be read: {error}"))
        })
    })?;
    let hash = sha256(&bytes);
    Ok((parse(bytes, read_file::read)?, hash))
}

fn parse(
    bytes: Vec<u8>,
    read: fn(&str) -> Result<FileContent, Mistakes>,
) -> Result<FileContent, Mistakes> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = error.as_bytes().get(..error.utf8_error().valid_up_to());
        let lines = before.unwrap_or_default().iter();
        Mistake {
            line: 1 + lines.filter(|byte| **byte == b'\n').count(),
            hint: Some("save the file as UTF-8".to_owned()),
            ..whole("this is not UTF-8".to_owned())
        }
    })?;
    read(&text)
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
    configuration.find_neighbors();
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

    /// The error about a server that no file has, or whose entry has mistakes.
    pub(crate) fn unknown(&self, name: &str) -> CommandError {
        if let Some(faulty) = self.faulty(name) {
            return faulty.error();
        }
        let error =
            CommandError::usage(format!("there is no server `{name}` in the configuration"));
        let names: Vec<&str> = self
            .servers
            .iter()
            .map(|server| server.name.as_str())
            .collect();
        match closest(name, &names) {
            Some(close) => error.hint(format!("did you mean `{close}`?")),
            None if names.is_empty() => error.hint("add one with `callgate add`"),
            None => error.hint(format!("the servers are {}", names.join(", "))),
        }
    }

    /// One line for each server that cannot be used.
    pub(crate) fn faulty_notices(&self) -> impl Iterator<Item = String> {
        self.faulty.iter().map(|faulty| {
            let problem = faulty.error().with_hints().replace("\nhint: ", "; ");
            let name = visible_line(&faulty.name);
            format!("the server `{name}` cannot be used: {problem}")
        })
    }

    /// The server with this name whose entry has mistakes.
    pub(crate) fn faulty(&self, name: &str) -> Option<&FaultyServer> {
        self.faulty.iter().find(|faulty| faulty.name == name)
    }

    fn add_settings(&mut self, file: &ConfigFile, options: &LoadOptions) {
        let written = &file.content.settings;
        let settings = &mut self.settings;
        settings.naming = settings.naming.or(written.naming);
        settings.listen = settings.listen.or(written.listen);
        settings.max_text = settings.max_text.or(written.max_text);
        if let (None, Some(path)) = (&settings.workspace, &written.workspace) {
            let directory = file.origin.path.parent().unwrap_or(Path::new("."));
            let home = options.home.as_deref();
            settings.workspace = Some(super::template::path(path, directory, home));
        }
    }

    fn find_neighbors(&mut self) {
        let names: Vec<ServerName> = self.servers.iter().map(|it| it.name.clone()).collect();
        for server in &mut self.servers {
            let begin = format!("{}_", server.name);
            let neighbors = names.iter().filter(|it| it.as_str().starts_with(&begin));
            server.neighbors = neighbors.cloned().collect();
        }
    }

    fn add_servers(&mut self, file: &ConfigFile) {
        for (name, definition) in &file.content.servers {
            let used = self.server(name.as_str()).map(|used| &used.origin);
            // The definition that the user means is the nearest, although it has a mistake.
            let used = used.or_else(|| Some(&self.faulty(name.as_str())?.origin));
            if let Some(by) = used.cloned() {
                let shadowed = ShadowedServer {
                    name: name.clone(),
                    origin: file.origin.clone(),
                    by,
                };
                self.shadowed.push(shadowed);
                continue;
            }
            self.servers.push(ConfiguredServer {
                name: name.clone(),
                definition: definition.clone(),
                origin: file.origin.clone(),
                trusted: file.trusted,
                neighbors: Vec::new(),
            });
        }
        for (name, mistakes) in &file.content.faulty {
            if self.server(name).is_none() && self.faulty(name).is_none() {
                self.faulty.push(FaultyServer {
                    name: name.clone(),
                    origin: file.origin.clone(),
                    mistakes: mistakes.clone(),
                });
            }
        }
    }
}

impl FaultyServer {
    /// The error of a command that needs the server.
    pub(crate) fn error(&self) -> CommandError {
        self.mistakes.in_file(&self.origin.path)
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::trust;
    use super::*;

    struct World {
        _directory: tempfile::TempDir,
        options: LoadOptions,
    }

    impl World {
        /// A home with the project `home/project`, whose subdirectory is the current one.
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let home = directory.path().join("home");
            let current_dir = home.join("project/sub");
            fs::create_dir_all(current_dir.join("deep")).unwrap();
            let options = LoadOptions {
                config: None,
                current_dir,
                data_dir: Some(directory.path().join("data")),
                user_dir: Some(home.join(".config/callgate")),
                home: Some(home),
            };
            Self {
                _directory: directory,
                options,
            }
        }

        fn write(&self, path: &str, text: &str) -> PathBuf {
            let path = self.options.home.as_ref().unwrap().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        }

        fn trust(&self, path: &Path) {
            let hash = sha256(&fs::read(path).unwrap());
            trust::add(self.options.data_dir.as_deref(), path, &hash).unwrap();
        }

        /// Name, command or URL, scope and trust of each server.
        fn servers(&self) -> Vec<String> {
            let configuration = load(&self.options).unwrap();
            let servers = configuration.servers.iter();
            let servers = servers.map(|server| {
                let target = crate::definition_text::target(&server.definition);
                let trusted = if server.trusted { "" } else { " untrusted" };
                format!("{} {target} {}{trusted}", server.name, server.origin.scope)
            });
            servers.collect()
        }
    }

    fn server(name: &str, command: &str) -> String {
        format!(r#"{{"mcpServers":{{"{name}":{{"command":"{command}"}}}}}}"#)
    }

    #[test]
    fn the_nearest_definition_of_a_name_is_used() {
        let world = World::new();
        assert_eq!(world.servers(), Vec::<String>::new());
        world.write(".config/callgate/config.json", &server("a", "user"));
        let above = world.write("project/.mcp.json", &server("a", "above"));
        let near = world.write("project/sub/.mcp.json", &server("b", "near"));
        let ours = world.write("project/sub/callgate.json", &server("b", "ours"));
        world.write(".mcp.json", &server("c", "not of the project"));
        for path in [&above, &near, &ours] {
            world.trust(path);
        }
        assert_eq!(world.servers(), ["b ours project", "a above project"]);
        let shadowed = load(&world.options).unwrap().shadowed;
        let shadowed: Vec<_> = shadowed
            .iter()
            .map(|hidden| (hidden.name.as_str(), hidden.origin.path.as_path()))
            .collect();
        let user = world.options.user_file().unwrap();
        assert_eq!(shadowed, [("b", near.as_path()), ("a", user.as_path())]);

        // The root of a repository ends the search.
        fs::create_dir(world.options.current_dir.join(".git")).unwrap();
        assert_eq!(world.servers(), ["b ours project", "a user user"]);

        let config = world.write("other.json", &server("z", "flag"));
        let alone = LoadOptions {
            config: Some(config),
            ..world.options.clone()
        };
        let names: Vec<String> = load(&alone)
            .unwrap()
            .servers
            .iter()
            .map(|server| server.name.to_string())
            .collect();
        assert_eq!(names, ["z"]);
    }

    #[test]
    fn a_project_file_is_trusted_by_its_content_and_place() {
        let world = World::new();
        world.write(".config/callgate/config.json", &server("a", "user"));
        let text = r#"{"mcpServers":{"a":{"command":"theirs"},"b":{"command":"b"}},"gateway":{"listen":"127.0.0.1:1"}}"#;
        let path = world.write("project/sub/.mcp.json", text);
        // It hides nothing of the user before it is trusted, and sets nothing.
        assert_eq!(world.servers(), ["a user user", "b b project untrusted"]);
        let configuration = load(&world.options).unwrap();
        assert_eq!(configuration.settings, Settings::default());
        let refused = configuration.server("b").unwrap().resolve().unwrap_err();
        assert_eq!(
            refused.with_hints(),
            format!(
                "the server `b` is in {0}, which is not trusted\nhint: run `callgate config trust {0}` to see and trust its servers",
                path.display()
            )
        );

        world.trust(&path);
        assert_eq!(world.servers(), ["a theirs project", "b b project"]);
        let listen = load(&world.options).unwrap().settings.listen;
        assert_eq!(listen, Some("127.0.0.1:1".parse().unwrap()));

        // Another place with the same content, and another content in the same place.
        let elsewhere = world.write("project/sub/callgate.json", text);
        assert_eq!(world.servers(), ["a theirs project", "b b project"]);
        assert!(
            !load(&world.options)
                .unwrap()
                .files
                .iter()
                .any(|file| file.trusted && file.origin.path == elsewhere)
        );
        fs::write(&path, format!("{text} ")).unwrap();
        assert_eq!(world.servers(), ["a user user", "b b project untrusted"]);

        fs::write(&path, text).unwrap();
        assert!(trust::remove(world.options.data_dir.as_deref(), &path).unwrap());
        assert_eq!(world.servers(), ["a user user", "b b project untrusted"]);
    }

    #[test]
    fn one_faulty_entry_leaves_the_other_servers_usable() {
        let world = World::new();
        world.write(
            ".config/callgate/config.json",
            "{\n\"mcpServers\":{\"a\":{\"command\":\"a\"},\"b\":{\"command\":\"user\"},\n\"c\":{\"url\":\"custom\"}}}",
        );
        let near = world.write(
            "project/.mcp.json",
            r#"{"mcpServers":{"b":{"comand":"near"}}}"#,
        );
        world.trust(&near);
        // The nearest definition of a name counts, with its mistake.
        assert_eq!(world.servers(), ["a a user"]);
        let configuration = load(&world.options).unwrap();
        let user = world.options.user_file().unwrap();
        let errors = ["b", "c"].map(|name| configuration.unknown(name).with_hints());
        assert_eq!(
            errors,
            [
                format!(
                    "{}:1: `mcpServers.b.comand` is not a key of the configuration\nhint: did you mean `command`?",
                    near.display()
                ),
                format!(
                    "{}:3: `mcpServers.c` has a URL that is not an http(s) URL\nhint: begin it with http:// or https://; for a program, use `command`",
                    user.display()
                ),
            ]
        );
    }

    #[test]
    fn a_project_file_that_is_not_trusted_fails_no_command() {
        let world = World::new();
        world.write(".config/callgate/config.json", &server("a", "user"));
        let path = world.write("project/sub/.mcp.json", "{");
        assert_eq!(world.servers(), ["a user user"]);
        world.trust(&path);
        assert!(load(&world.options).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_trust_store_that_others_could_write_trusts_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let world = World::new();
        let path = world.write("project/sub/.mcp.json", &server("b", "b"));
        world.trust(&path);
        let store = world
            .options
            .data_dir
            .as_ref()
            .unwrap()
            .join("trusted-configs.json");
        let mode = fs::metadata(&store).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        assert_eq!(world.servers(), ["b b project"]);
        fs::set_permissions(&store, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(world.servers(), ["b b project untrusted"]);
        let notices = load(&world.options).unwrap().notices;
        assert!(
            notices
                .iter()
                .any(|notice| notice.starts_with("no project file is trusted: ")),
            "{notices:?}"
        );
    }

    #[test]
    fn a_file_that_is_too_large_or_not_text_is_refused() {
        let world = World::new();
        let path = world.write(".config/callgate/config.json", &" ".repeat(MAX_BYTES));
        assert_eq!(world.servers(), Vec::<String>::new());
        fs::write(&path, " ".repeat(MAX_BYTES + 1)).unwrap();
        let error = load(&world.options).unwrap_err().with_hints();
        assert_eq!(
            error,
            format!(
                "{}:1: the file has more than {MAX_BYTES} bytes",
                path.display()
            )
        );
        fs::write(&path, b"{\n\xff}").unwrap();
        let error = load(&world.options).unwrap_err().with_hints();
        assert_eq!(
            error,
            format!(
                "{}:2: this is not UTF-8\nhint: save the file as UTF-8",
                path.display()
            )
        );
    }

    #[test]
    fn the_hash_of_a_definition_depends_on_its_meaning_and_place() {
        let world = World::new();
        let hash = |path: &str, text: &str| {
            let config = world.write(path, text);
            let options = LoadOptions {
                config: Some(config),
                ..world.options.clone()
            };
            load(&options).unwrap().servers[0].definition_hash()
        };
        let first = hash("x/a.json", &server("a", "x"));
        assert_eq!(
            hash(
                "x/b.json",
                r#"{"mcpServers":{"a":{ "type":"stdio", "command" : "x" }}}"#
            ),
            first
        );
        assert_ne!(hash("x/a.json", &server("a", "y")), first);
        assert_ne!(hash("y/a.json", &server("a", "x")), first);
    }
}
