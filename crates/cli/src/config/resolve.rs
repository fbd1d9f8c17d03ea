//! Definitions with the values of their variables, ready to connect.

use std::cell::RefCell;
use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use callgate_oauth::Secret;
use callgate_oauth::options::ProviderOptions;
use url::Url;

use super::definition::{
    CommandDefinition, Connection, OAuthDefinition, UrlDefinition, UrlTransport,
};
use super::load::ConfiguredServer;
use super::template::{Expanded, Sources, Template, TemplateError};
use crate::error::CommandError;
use crate::logins::http_url;

/// A server whose variables have their values. `Debug` does not show them.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedServer {
    pub(crate) connection: ResolvedConnection,
    /// Directories or URIs that the server is told of as roots.
    pub(crate) roots: Vec<Expanded>,
    /// Contents of the files that the definition names in its values.
    pub(crate) file_values: Vec<Expanded>,
}

/// Way to reach a server.
#[derive(Debug, Clone)]
pub(crate) enum ResolvedConnection {
    Command(ResolvedCommand),
    Url(Box<ResolvedUrl>),
}

/// A program to start.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedCommand {
    pub(crate) program: Expanded,
    pub(crate) args: Vec<Expanded>,
    /// Variables of `envFile` and `env`, each once.
    pub(crate) env: Vec<(String, Expanded)>,
    /// Directory in which the program runs; `None` for that of this process.
    pub(crate) cwd: Option<PathBuf>,
    /// True if the program gets our whole environment.
    pub(crate) inherit_all: bool,
}

/// A server at a URL.
#[derive(Clone)]
pub(crate) struct ResolvedUrl {
    pub(crate) transport: UrlTransport,
    pub(crate) url: Url,
    pub(crate) headers: Vec<(String, Expanded)>,
    pub(crate) headers_helper: Option<HeadersHelper>,
    pub(crate) oauth: ResolvedOAuth,
}

/// Command that prints headers as a JSON object.
#[derive(Debug, Clone)]
pub(crate) struct HeadersHelper {
    /// The command as it is written, for errors.
    pub(crate) written: Template,
    pub(crate) command: Expanded,
    /// Directory of the file that names it, in which it runs.
    pub(crate) directory: PathBuf,
}

/// Login at a server.
#[derive(Debug, Clone)]
pub(crate) enum ResolvedOAuth {
    /// Never log in.
    Off,
    On(Box<ResolvedLogin>),
}

/// Settings of the login; all are absent if the file has none.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResolvedLogin {
    pub(crate) account: Option<String>,
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret: Option<Secret>,
    pub(crate) scopes: Vec<String>,
    pub(crate) callback_port: Option<u16>,
    pub(crate) options: ProviderOptions,
}

impl ConfiguredServer {
    /// The definition with the values of its variables.
    ///
    /// # Errors
    /// The file is not trusted, so that nothing of it is read; or a variable has no value.
    pub(crate) fn resolve(&self) -> Result<ResolvedServer, CommandError> {
        self.check_trust()?;
        self.resolve_all().map_err(|(first, _)| first)
    }

    /// All reasons why the definition cannot be resolved, for commands that look for mistakes.
    pub(crate) fn unresolved(&self) -> Vec<CommandError> {
        if let Err(error) = self.check_trust() {
            return vec![error];
        }
        match self.resolve_all() {
            Ok(_) => Vec::new(),
            // A file that cannot be read, or a URL that is none.
            Err((first, problems)) if problems.is_empty() => vec![first],
            Err((_, problems)) => problems,
        }
    }

    /// The definition with the values of its variables, or the first error and those of all variables.
    fn resolve_all(&self) -> Result<ResolvedServer, (CommandError, Vec<CommandError>)> {
        let home = env::var_os("HOME").map(PathBuf::from);
        let variable = |name: &str| env::var(name).ok();
        let path = &self.origin.path;
        let sources = Sources {
            variable: &variable,
            directory: path.parent().unwrap_or(Path::new(".")),
            home: home.as_deref(),
        };
        let resolver = Resolver {
            sources: &sources,
            server: self,
            file_values: RefCell::default(),
        };
        let resolved = resolver.server();
        resolved.map_err(|first| (first, resolver.problems()))
    }
}

struct Resolver<'a> {
    sources: &'a Sources<'a>,
    server: &'a ConfiguredServer,
    /// Contents of the files that were read so far.
    file_values: RefCell<Vec<Expanded>>,
}

impl Resolver<'_> {
    fn server(&self) -> Result<ResolvedServer, CommandError> {
        let definition = &self.server.definition;
        Ok(ResolvedServer {
            connection: match &definition.connection {
                Connection::Command(command) => ResolvedConnection::Command(self.command(command)?),
                Connection::Url(url) => ResolvedConnection::Url(Box::new(self.url(url)?)),
            },
            roots: self.list("roots", &definition.roots)?,
            file_values: self.file_values.take(),
        })
    }

    /// The errors of all values with variables that have no value here.
    fn problems(&self) -> Vec<CommandError> {
        let definition = &self.server.definition;
        let mut values: Vec<(String, &Template)> = Vec::new();
        let mut add = |key: &str, template| {
            let template: Option<_> = template;
            values.extend(template.map(|template| (key.to_owned(), template)));
        };
        match &definition.connection {
            Connection::Command(command) => {
                add("command", Some(&command.command));
                for (index, argument) in command.args.iter().enumerate() {
                    add(&format!("args[{index}]"), Some(argument));
                }
                for (name, value) in &command.env {
                    add(&format!("env.{name}"), Some(value));
                }
                add("envFile", command.env_file.as_ref());
                add("cwd", command.cwd.as_ref());
            }
            Connection::Url(url) => {
                add("url", Some(&url.url));
                for (name, value) in &url.headers {
                    add(&format!("headers.{name}"), Some(value));
                }
                add("headersHelper", url.headers_helper.as_ref());
                if let Some(OAuthDefinition::On(oauth)) = &url.oauth {
                    add("oauth.clientId", oauth.client_id.as_ref());
                    add("oauth.clientSecret", oauth.client_secret.as_ref());
                }
            }
        }
        for (index, root) in definition.roots.iter().enumerate() {
            add(&format!("roots[{index}]"), Some(root));
        }
        let errors = values
            .iter()
            .filter_map(|(key, template)| self.text(key, template).err());
        errors.collect()
    }

    fn command(&self, command: &CommandDefinition) -> Result<ResolvedCommand, CommandError> {
        let mut env = match &command.env_file {
            Some(file) => self.env_file(file)?,
            None => Vec::new(),
        };
        let own = self.pairs("env", &command.env)?;
        env.retain(|(name, _)| !own.iter().any(|(own, _)| own == name));
        env.extend(own);
        let cwd = command.cwd.as_ref();
        let cwd = cwd.map(|cwd| self.text("cwd", cwd)).transpose()?;
        Ok(ResolvedCommand {
            program: self.text("command", &command.command)?,
            args: self.list("args", &command.args)?,
            env,
            cwd: cwd.map(|cwd| self.sources.path(cwd.as_str())),
            inherit_all: command.inherit_all,
        })
    }

    fn url(&self, definition: &UrlDefinition) -> Result<ResolvedUrl, CommandError> {
        let url = self.text("url", &definition.url)?;
        let Some(url) = http_url(url.as_str()) else {
            let written = &definition.url;
            let error = anyhow!("`{written}` does not become an http(s) URL");
            let hint = "check the values of its variables";
            return Err(self.error("url", CommandError::from(error)).hint(hint));
        };
        let helper = definition.headers_helper.as_ref();
        let helper = helper.map(|written| {
            Ok::<_, CommandError>(HeadersHelper {
                written: written.clone(),
                command: self.text("headersHelper", written)?,
                directory: self.sources.directory.to_owned(),
            })
        });
        Ok(ResolvedUrl {
            transport: definition.transport,
            url,
            headers: self.pairs("headers", &definition.headers)?,
            headers_helper: helper.transpose()?,
            oauth: self.oauth(definition.oauth.as_ref())?,
        })
    }

    fn oauth(&self, definition: Option<&OAuthDefinition>) -> Result<ResolvedOAuth, CommandError> {
        let settings = match definition {
            None => return Ok(ResolvedOAuth::On(Box::default())),
            Some(OAuthDefinition::Off) => return Ok(ResolvedOAuth::Off),
            Some(OAuthDefinition::On(settings)) => settings,
        };
        let text = |key: &str, template: &Option<Template>| {
            let template = template.as_ref();
            template
                .map(|template| self.text(key, template))
                .transpose()
        };
        let secret = text("oauth.clientSecret", &settings.client_secret)?;
        let id = text("oauth.clientId", &settings.client_id)?;
        let mut options = settings.options.clone();
        for file in [&mut options.ca_file, &mut options.initial_access_token_file]
            .into_iter()
            .flatten()
        {
            *file = self.sources.path(&file.to_string_lossy());
        }
        Ok(ResolvedOAuth::On(Box::new(ResolvedLogin {
            account: settings.account.clone(),
            client_id: id.map(|id| id.as_str().to_owned()),
            client_secret: secret.map(|secret| Secret::new(secret.as_str())),
            scopes: settings.scopes.clone(),
            callback_port: settings.callback_port,
            options,
        })))
    }

    fn list(&self, key: &str, templates: &[Template]) -> Result<Vec<Expanded>, CommandError> {
        let expanded = templates
            .iter()
            .enumerate()
            .map(|(index, template)| self.text(&format!("{key}[{index}]"), template));
        expanded.collect()
    }

    fn pairs(
        &self,
        key: &str,
        pairs: &[(String, Template)],
    ) -> Result<Vec<(String, Expanded)>, CommandError> {
        let expanded = pairs.iter().map(|(name, template)| {
            let value = self.text(&format!("{key}.{name}"), template)?;
            Ok((name.clone(), value))
        });
        expanded.collect()
    }

    fn text(&self, key: &str, template: &Template) -> Result<Expanded, CommandError> {
        let expanded = template.expand(self.sources);
        let expanded = expanded.map_err(|error| self.unresolved(key, error))?;
        let mut file_values = self.file_values.borrow_mut();
        let files = expanded.files().iter().cloned();
        file_values.extend(files.map(Expanded::from_file));
        Ok(expanded)
    }

    fn unresolved(&self, key: &str, error: TemplateError) -> CommandError {
        let hint = match &error {
            TemplateError::Unset(name) => {
                format!("set it, or write a default in the file: ${{{name}:-default}}")
            }
            TemplateError::NotAVariable(_) => {
                "write `$${` for the characters `${` themselves".to_owned()
            }
            TemplateError::Input(_) => {
                "write a variable of the environment instead, such as ${TOKEN}".to_owned()
            }
            TemplateError::File { .. } => "check the path and its permissions".to_owned(),
        };
        self.error(key, CommandError::from(anyhow!(error)))
            .hint(hint)
    }

    /// The error with the key and the file that it is about.
    fn error(&self, key: &str, error: CommandError) -> CommandError {
        let name = &self.server.name;
        let path = self.server.origin.path.display();
        error.context(format!("`mcpServers.{name}.{key}` of {path}"))
    }

    fn env_file(&self, file: &Template) -> Result<Vec<(String, Expanded)>, CommandError> {
        let path = self.text("envFile", file)?;
        let path = self.sources.path(path.as_str());
        let read = File::open(&path).and_then(read_env_file);
        let text = read.map_err(|error| {
            let error = anyhow!(error).context(format!("cannot read {}", path.display()));
            self.error("envFile", CommandError::from(error))
                .hint("check the path and its permissions")
        })?;
        let pairs = variables(&text).map_err(|line| {
            let error = anyhow!("line {line} of {} is not NAME=value", path.display());
            self.error("envFile", CommandError::from(error))
                .hint("write one NAME=value in each line; `#` begins a comment")
        })?;
        let pairs = pairs.into_iter();
        Ok(pairs
            .map(|(name, value)| (name, Expanded::from_file(value)))
            .collect())
    }
}

/// Maximum bytes of a file with variables.
const MAX_ENV_FILE: u64 = 256 * 1024;

fn read_env_file(file: File) -> io::Result<String> {
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut text = String::new();
    file.take(MAX_ENV_FILE + 1).read_to_string(&mut text)?;
    match text.len() as u64 > MAX_ENV_FILE {
        true => Err(io::Error::other(format!(
            "it has more than {MAX_ENV_FILE} bytes"
        ))),
        false => Ok(text),
    }
}

/// Variables of a file, the last of each name; the number of the first line that is none.
fn variables(text: &str) -> Result<Vec<(String, String)>, usize> {
    let mut found: Vec<(String, String)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or(index + 1)?;
        let name = name.trim();
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(index + 1);
        }
        found.retain(|(earlier, _)| earlier != name);
        found.push((name.to_owned(), unquoted(value.trim()).to_owned()));
    }
    Ok(found)
}

/// The value without its quotes, or without the comment after it.
fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some((inside, _)) = value
            .strip_prefix(quote)
            .and_then(|rest| rest.split_once(quote))
        {
            return inside;
        }
    }
    let (value, _) = value.split_once(" #").unwrap_or((value, ""));
    value.trim_end()
}

impl std::fmt::Debug for ResolvedUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The path and the query of a URL may hold a secret.
        f.debug_struct("ResolvedUrl")
            .field("host", &self.url.host_str())
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use callgate_hub::ServerName;

    use super::*;
    use crate::config::definition::ServerDefinition;
    use crate::config::load::Origin;
    use crate::config::places::Scope;

    fn resolve(directory: &Path, text: &str) -> Result<ResolvedServer, String> {
        let server = ConfiguredServer {
            name: ServerName::new("s").unwrap(),
            definition: ServerDefinition::from_text(text).unwrap().0,
            origin: Origin {
                path: directory.join("config.json"),
                scope: Scope::User,
            },
            trusted: true,
            neighbors: Vec::new(),
        };
        server.resolve().map_err(|error| error.with_hints())
    }

    #[test]
    fn a_program_gets_the_values_of_its_variables() {
        let directory = tempfile::tempdir().unwrap();
        let file = "# mine\nexport A=1\nB='two # 2'\nC=three # 3\n\nD=\"4\"\n";
        fs::write(directory.path().join(".env"), file).unwrap();
        fs::write(directory.path().join("secret"), "s3\n").unwrap();
        let resolved = resolve(
            directory.path(),
            r#"{"command":"x","args":["${NO_SUCH_VARIABLE:-y}"],"env":{"D":"{file:secret}"},"envFile":".env","cwd":"sub"}"#,
        )
        .unwrap();
        let ResolvedConnection::Command(command) = &resolved.connection else {
            panic!("{resolved:?}");
        };
        let env: Vec<(&str, &str)> = command
            .env
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            env,
            [("A", "1"), ("B", "two # 2"), ("C", "three"), ("D", "s3")]
        );
        let args: Vec<&str> = command.args.iter().map(Expanded::as_str).collect();
        assert_eq!(args, ["y"]);
        assert_eq!(command.cwd, Some(directory.path().join("sub")));
        assert!(!format!("{resolved:?}").contains("s3"), "{resolved:?}");
    }

    #[test]
    fn a_variable_without_a_value_names_its_key_and_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.json");
        let file = file.display();
        for (text, expect) in [
            (
                r#"{"command":"x","env":{"T":"${NO_SUCH_VARIABLE}"}}"#,
                format!(
                    "`mcpServers.s.env.T` of {file}: the variable `NO_SUCH_VARIABLE` is not set\nhint: set it, or write a default in the file: ${{NO_SUCH_VARIABLE:-default}}"
                ),
            ),
            (
                r#"{"command":"x","args":["a","${input:token}"]}"#,
                format!(
                    "`mcpServers.s.args[1]` of {file}: `${{input:token}}` is an input of VS Code, which Callgate does not ask for\nhint: write a variable of the environment instead, such as ${{TOKEN}}"
                ),
            ),
            (
                r#"{"url":"${NO_SUCH_VARIABLE:-x}"}"#,
                format!(
                    "`mcpServers.s.url` of {file}: `${{NO_SUCH_VARIABLE:-x}}` does not become an http(s) URL\nhint: check the values of its variables"
                ),
            ),
        ] {
            assert_eq!(resolve(directory.path(), text).map(drop), Err(expect));
        }
        fs::write(directory.path().join(".env"), "A=1\nnonsense\n").unwrap();
        let error = resolve(directory.path(), r#"{"command":"x","envFile":".env"}"#).unwrap_err();
        assert!(
            error.contains(": line 2 of ") && error.contains("is not NAME=value"),
            "{error}"
        );
    }

    #[test]
    fn a_url_shows_no_secret_for_debugging() {
        let directory = tempfile::tempdir().unwrap();
        let text = r#"{"url":"https://a.example/s3cret?k=s3cret","headers":{"X":"s3cret"},"oauth":{"clientId":"i","clientSecret":"s3cret"}}"#;
        let resolved = resolve(directory.path(), text).unwrap();
        assert_eq!(
            format!("{resolved:?}"),
            "ResolvedServer { connection: Url(ResolvedUrl { host: Some(\"a.example\"), headers: [(\"X\", …)], .. }), roots: [], file_values: [] }"
        );
    }
}
