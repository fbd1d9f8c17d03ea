use std::path::{Path, PathBuf};

use callgate_hub::ServerName;
use callgate_mcp::wire::{Limits, RawJson};
use callgate_oauth::store::{ChosenClient, ChosenKind};
use serde_json::json;

use crate::config::definition::{
    CommandDefinition, Connection, OAuthDefinition, OAuthSettings, UrlDefinition, UrlTransport,
};
use crate::config::edit::{self, Edited};
use crate::config::load::parse_file;
use crate::config::secret_text::is_secret;
use crate::config::template::Template;
use crate::config::trust::{self, TrustStore};
use crate::config::{LoadOptions, Scope, ServerDefinition};
use crate::config_args::{Add, AddJson, FileChoice, ScopeName, TransportName};
use crate::error::CommandError;
use crate::logins::{Logins, http_url};
use crate::{client_secret, output};

/// Adds a server to a configuration file.
pub(crate) fn run(args: &Add, options: &LoadOptions, json: bool) -> Result<(), CommandError> {
    let name = ServerName::new(&args.name).map_err(CommandError::usage)?;
    let definition = definition(args)?;
    let place = Place::new(&args.file, options)?;
    place.check_new(&name, args.force)?;
    if let ([word], None) = (args.words.as_slice(), args.transport)
        && is_url_without_scheme(word)
    {
        output::note(&format!(
            "warning: `{word}` is added as a command; if it is a URL, add `https://{word}` instead"
        ));
    }
    warn_of_secrets(&definition, &place.path);
    if args.client_secret {
        store_client_secret(&definition, options)?;
    }
    let edited = edit::set_server(&place.path, &name, &definition)?;
    place.report("added", &name, &edited, json)
}

/// Adds a server whose definition is JSON.
pub(crate) fn run_json(
    args: &AddJson,
    options: &LoadOptions,
    json: bool,
) -> Result<(), CommandError> {
    let name = ServerName::new(&args.name).map_err(CommandError::usage)?;
    let (definition, _) = ServerDefinition::from_text(&args.definition).map_err(|mistakes| {
        let error = mistakes.in_text();
        error.hint("run `callgate config schema` to see the keys of a server")
    })?;
    let place = Place::new(&args.file, options)?;
    place.check_new(&name, args.force)?;
    warn_of_secrets(&definition, &place.path);
    if args.client_secret {
        store_client_secret(&definition, options)?;
    }
    // With the keys of other clients, which may read the same file.
    let written = RawJson::parse_strict(args.definition.clone().into(), &Limits::default());
    let written = written.unwrap_or_else(|_| definition.to_json());
    let edited = edit::set_server_json(&place.path, &name, &written)?;
    place.report("added", &name, &edited, json)
}

/// Asks for the secret of the client, and stores it with the login at the server: not in the configuration, which may
/// be shared.
fn store_client_secret(
    definition: &ServerDefinition,
    options: &LoadOptions,
) -> Result<(), CommandError> {
    let no_client = || {
        CommandError::usage("--client-secret is for a server at a URL with the id of a client")
            .hint("pass --client-id ID, or write `oauth.clientId` in the JSON")
    };
    let Connection::Url(server) = &definition.connection else {
        return Err(no_client());
    };
    let Some(OAuthDefinition::On(oauth)) = &server.oauth else {
        return Err(no_client());
    };
    let client_id = oauth.client_id.as_ref().ok_or_else(no_client)?;
    let url = http_url(server.url.as_str());
    let url = url.filter(|_| !server.url.has_variables() && !client_id.has_variables());
    let url = url.ok_or_else(|| {
        let message = "the secret is stored for one URL and one client, and these have variables";
        CommandError::usage(message)
            .hint("add the server without --client-secret, and pass --client-secret-file FILE to `callgate auth`")
    })?;
    let logins = Logins::unlock(options.data_dir.as_deref())?;
    let account = logins.account_at(&url, oauth.account.as_deref())?;
    let mut chosen = ChosenClient::new(client_id.as_str(), ChosenKind::Registered);
    chosen.client_secret = Some(client_secret::read()?);
    logins.choose_client(&account, &chosen)
}

/// True for a word such as `mcp.example.com/mcp`, which is no path of a program.
fn is_url_without_scheme(word: &str) -> bool {
    let (host, path) = word.split_once('/').unwrap_or((word, ""));
    let (host, port) = host.split_once(':').unwrap_or((host, ""));
    let is_host = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    let is_port = !port.is_empty() && port.chars().all(|c| c.is_ascii_digit());
    let has_name = host.contains('.') && !host.starts_with('.') && !path.is_empty();
    host.chars().all(is_host) && !host.is_empty() && (has_name || is_port)
}

/// True for a word that begins with the scheme of a URL, which no program does.
fn has_scheme(word: &str) -> bool {
    let is_scheme = |text: &str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(is_part)
    };
    word.split_once("://")
        .is_some_and(|(scheme, _)| is_scheme(scheme))
}

fn definition(args: &Add) -> Result<ServerDefinition, CommandError> {
    let words = match &args.url {
        Some(url) => std::slice::from_ref(url),
        None => args.words.as_slice(),
    };
    let Some((first, rest)) = words.split_first() else {
        return Err(CommandError::usage("no URL and no command is given"));
    };
    let is_url = http_url(first).is_some() || args.url.is_some();
    let transport = args.transport.unwrap_or(match is_url {
        true => TransportName::Http,
        false => TransportName::Stdio,
    });
    let connection = match transport {
        TransportName::Stdio => command(args, first, rest)?,
        TransportName::Http => url(args, UrlTransport::Http, first, rest)?,
        TransportName::Sse => url(args, UrlTransport::Sse, first, rest)?,
    };
    let definition = ServerDefinition::new(connection);
    // The checks of a file hold for this one too.
    let checked = ServerDefinition::from_json(&definition.to_json());
    checked
        .map(|(definition, _)| definition)
        .map_err(|mistakes| mistakes.in_text())
}

fn command(args: &Add, program: &str, rest: &[String]) -> Result<Connection, CommandError> {
    let unused = [
        ("--header", !args.header.is_empty()),
        ("--client-id", args.client_id.is_some()),
        ("--client-secret", args.client_secret),
        ("--callback-port", args.callback_port.is_some()),
        ("--url", args.url.is_some()),
    ];
    refuse(
        &unused,
        "a server at a URL",
        "pass a URL that begins with http:// or https://",
    )?;
    if has_scheme(program) {
        let hint = match http_url(program) {
            Some(_) => "leave out `--transport stdio`",
            None => "a server elsewhere has a URL that begins with http:// or https://",
        };
        let message = format!("`{program}` is a URL and not a command");
        return Err(CommandError::usage(message).hint(hint));
    }
    Ok(Connection::Command(CommandDefinition {
        command: Template::new(program),
        args: rest.iter().map(Template::new).collect(),
        env: templates(&args.env),
        env_file: None,
        cwd: None,
        inherit_all: false,
    }))
}

fn url(
    args: &Add,
    transport: UrlTransport,
    url: &str,
    rest: &[String],
) -> Result<Connection, CommandError> {
    refuse(
        &[("--env", !args.env.is_empty())],
        "a server that is a command",
        "send a value to a URL with --header \"NAME: VALUE\"",
    )?;
    if let Some(word) = rest.first() {
        let message = format!("`{word}` is not expected after a URL");
        return Err(CommandError::usage(message)
            .hint("for a command, leave out --transport and put -- before the command"));
    }
    let oauth = (args.client_id.is_some() || args.callback_port.is_some()).then(|| {
        OAuthDefinition::On(Box::new(OAuthSettings {
            client_id: args.client_id.as_ref().map(Template::new),
            callback_port: args.callback_port,
            ..OAuthSettings::default()
        }))
    });
    Ok(Connection::Url(UrlDefinition {
        transport,
        url: Template::new(url),
        headers: templates(&args.header),
        headers_helper: None,
        oauth,
    }))
}

fn refuse(options: &[(&str, bool)], owner: &str, hint: &str) -> Result<(), CommandError> {
    match options.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => {
            Err(CommandError::usage(format!("{option} is for {owner}")).hint(hint))
        }
        None => Ok(()),
    }
}

fn templates(pairs: &[(String, String)]) -> Vec<(String, Template)> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| (name.clone(), Template::new(value)))
        .collect()
}

fn warn_of_secrets(definition: &ServerDefinition, path: &Path) {
    if let Connection::Url(url) = &definition.connection
        && let Some(OAuthDefinition::On(oauth)) = &url.oauth
        && let Some(secret) = &oauth.client_secret
        && !secret.has_variables()
    {
        output::note(&format!(
            "warning: the secret of the client is written to {} as it is; leave `oauth.clientSecret` out and pass --client-secret to store it with the login",
            path.display()
        ));
    }
    let (kind, pairs) = match &definition.connection {
        Connection::Command(command) => ("variable", &command.env),
        Connection::Url(url) => ("header", &url.headers),
    };
    for (name, value) in pairs {
        if is_secret(name, value) {
            let variable: String = name
                .chars()
                .map(|c| {
                    if c.is_ascii_alphanumeric() {
                        c.to_ascii_uppercase()
                    } else {
                        '_'
                    }
                })
                .collect();
            output::note(&format!(
                "warning: the {kind} `{name}` looks like a secret, and is written to {} as it is; '${{{variable}}}' in its place takes it from the environment",
                path.display()
            ));
        }
    }
}

/// File of an edit.
pub(super) struct Place<'a> {
    pub(super) path: PathBuf,
    pub(super) scope: Scope,
    pub(super) options: &'a LoadOptions,
}

impl<'a> Place<'a> {
    /// The file that the options name, else that of the user.
    pub(super) fn new(choice: &FileChoice, options: &'a LoadOptions) -> Result<Self, CommandError> {
        let (path, scope) = match (&options.config, choice.scope) {
            (Some(path), None) => (path.clone(), Scope::Flag),
            (Some(_), Some(_)) => {
                let message = "--config and --scope both name a file to edit";
                return Err(CommandError::usage(message).hint("keep one of the two"));
            }
            (None, Some(ScopeName::Project)) => (options.project_file(), Scope::Project),
            (None, None | Some(ScopeName::Local | ScopeName::User)) => {
                let path = options.user_file().ok_or_else(|| {
                    CommandError::usage("there is no directory for the file of the user")
                        .hint("set HOME or XDG_CONFIG_HOME, or pass --config FILE")
                })?;
                (path, Scope::User)
            }
        };
        Ok(Self {
            path,
            scope,
            options,
        })
    }

    /// Refuses a name that the file has already.
    fn check_new(&self, name: &ServerName, force: bool) -> Result<(), CommandError> {
        if force || !self.path.exists() {
            return Ok(());
        }
        // A file with mistakes is reported rather than made longer.
        let (content, _) =
            parse_file(&self.path).map_err(|mistakes| mistakes.in_file(&self.path))?;
        if content.servers.iter().any(|(known, _)| known == name) {
            let message = format!("{} has a server `{name}` already", self.path.display());
            return Err(CommandError::usage(message)
                .hint("add --force to replace it, or choose another name"));
        }
        Ok(())
    }

    /// Prints the result. A trusted project file stays trusted: the user has just made this change.
    pub(super) fn report(
        &self,
        verb: &str,
        name: &ServerName,
        edited: &Edited,
        json: bool,
    ) -> Result<(), CommandError> {
        if self.scope == Scope::Project
            && let Some(after) = &edited.after
        {
            let data_dir = self.options.data_dir.as_deref();
            let store = TrustStore::open(data_dir);
            let was_trusted = match &edited.before {
                Some(before) => store.contains(&self.path, before),
                None => true,
            };
            if was_trusted {
                trust::add(data_dir, &self.path, after)?;
            }
        }
        if json {
            let result = json!({verb: name.as_str(), "path": self.path, "scope": self.scope});
            return Ok(output::value(&result)?);
        }
        let path = self.path.display();
        let text = match verb {
            "added" => format!("added {name} to {path}"),
            "removed" => format!("removed {name} from {path}"),
            verb => format!("{verb} {name} in {path}"),
        };
        Ok(output::text(&text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::is_url_without_scheme;

    #[test]
    fn a_url_without_its_scheme_is_told_from_a_program() {
        for url in [
            "mcp.example.com/mcp",
            "localhost:3000/mcp",
            "localhost:3000",
        ] {
            assert!(is_url_without_scheme(url), "{url}");
        }
        for program in [
            "npx",
            "server.py",
            "./a.b/c",
            "/opt/a.b/c",
            "../x",
            "bin/x",
            "a:b",
        ] {
            assert!(!is_url_without_scheme(program), "{program}");
        }
    }
}
