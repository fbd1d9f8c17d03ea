use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::config::definition::{Connection, OAuthDefinition, OAuthSettings};
use crate::config::digest::ContentHash;
use crate::config::load::{parse_file, trust_command};
use crate::config::read_file::FileContent;
use crate::config::secret_text::{HIDDEN, is_named_secret};
use crate::config::template::Template;
use crate::config::trust::{self, TrustStore};
use crate::config::{LoadOptions, Scope, ServerDefinition};
use crate::config_args::Trust;
use crate::elicitation::is_interactive;
use crate::error::CommandError;
use crate::visible::visible_line;
use crate::{definition_text, output};

/// Shows what files would start and contact, and trusts them if the user says so.
pub(super) fn run(args: &Trust, options: &LoadOptions, json: bool) -> Result<(), CommandError> {
    let files: Vec<PathBuf> = match args.files.as_slice() {
        [] => {
            let files = options.files().into_iter();
            let files = files.filter(|file| file.scope == Scope::Project);
            files.map(|file| file.path).collect()
        }
        files => files
            .iter()
            .map(|path| options.current_dir.join(path))
            .collect(),
    };
    if files.is_empty() {
        return Err(CommandError::usage("there is no file of a project here")
            .hint("name one, or change to the directory of the project"));
    }
    match args.revoke {
        true => revoke(files, options, json),
        false => trust_all(&files, args.yes, options, json),
    }
}

fn revoke(files: Vec<PathBuf>, options: &LoadOptions, json: bool) -> Result<(), CommandError> {
    let mut revoked = Vec::new();
    for path in files {
        if trust::remove(options.data_dir.as_deref(), &path)? {
            revoked.push(path);
        }
    }
    if json {
        return Ok(output::value(&json!({ "revoked": revoked }))?);
    }
    for path in &revoked {
        output::text(&format!("{} is not trusted any more", path.display()))?;
    }
    if revoked.is_empty() {
        output::note("none of the files was trusted");
    }
    Ok(())
}

fn trust_all(
    files: &[PathBuf],
    yes: bool,
    options: &LoadOptions,
    json: bool,
) -> Result<(), CommandError> {
    let mut trusted = Vec::new();
    for path in files {
        let (content, hash) = parse_file(path).map_err(|mistakes| mistakes.in_file(path))?;
        let question = Question {
            path,
            content: &content,
            hash: &hash,
        };
        let is_known = TrustStore::open(options.data_dir.as_deref()).contains(path, &hash);
        if is_known || question.ask(options, yes)? {
            trusted.push(path);
        }
    }
    if json {
        return Ok(output::value(&json!({ "trusted": trusted }))?);
    }
    for path in &trusted {
        output::text(&format!("{} is trusted as it is now", path.display()))?;
    }
    match trusted.len() < files.len() {
        true => Err(CommandError::usage(
            "a file was not trusted, so its servers are not used",
        )),
        false => Ok(()),
    }
}

/// Question about the trust in a project's file.
struct Question<'a> {
    path: &'a Path,
    content: &'a FileContent,
    /// Hash of the bytes that `content` was read from.
    hash: &'a ContentHash,
}

impl Question<'_> {
    /// Shows the servers of the file, and asks the user unless `yes` is the answer. True if it is trusted now.
    ///
    /// # Errors
    /// No user can be asked.
    fn ask(&self, options: &LoadOptions, yes: bool) -> Result<bool, CommandError> {
        let path = self.path.display();
        if !yes && !is_interactive() {
            let message = format!("{path} is not trusted, and no user can be asked here");
            let command = trust_command(self.path);
            return Err(CommandError::usage(message).hint(format!(
                "run `{command}` on a terminal, or `{command} --yes` after a look at the file"
            )));
        }
        output::note(&format!("{path}:"));
        for line in describe(self.content) {
            output::note(&format!("  {line}"));
        }
        if !yes {
            output::prompt("trust this file as it is now? [y/N] ");
            let mut answer = String::new();
            io::stdin().read_line(&mut answer)?;
            let answer = answer.trim().to_lowercase();
            if answer.is_empty() || !"yes".starts_with(&answer) {
                return Ok(false);
            }
        }
        trust::add(options.data_dir.as_deref(), self.path, self.hash)?;
        Ok(true)
    }
}

/// Lines that tell which programs a file starts, which URLs it contacts and which variables it sets, in visible form.
fn describe(content: &FileContent) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, definition) in &content.servers {
        let target = definition_text::written_target(definition);
        lines.push(match &definition.connection {
            Connection::Command(_) => format!("{name}: starts {target}"),
            Connection::Url(_) => format!("{name}: contacts {target}"),
        });
        let details = details(definition).into_iter();
        lines.extend(details.map(|detail| format!("  {detail}")));
    }
    let settings = &content.settings;
    if let Some(address) = settings.listen {
        lines.push(format!("`callgate serve` listens on {address}"));
    }
    if let Some(path) = &settings.workspace {
        lines.push(format!("the workspace tools may use {path}"));
    }
    if lines.is_empty() {
        lines.push("no servers".to_owned());
    }
    let lines = lines.iter();
    lines.map(|line| visible_line(line)).collect()
}

fn details(definition: &ServerDefinition) -> Vec<String> {
    let mut details = Vec::new();
    match &definition.connection {
        Connection::Command(written) => {
            for (name, template) in &written.env {
                details.push(format!("variable {name}={}", value(name, template)));
            }
            if let Some(file) = &written.env_file {
                details.push(format!("variables of the file {file}"));
            }
            if let Some(directory) = &written.cwd {
                details.push(format!("in the directory {directory}"));
            }
            if written.inherit_all {
                details.push("with all variables of your environment".to_owned());
            }
        }
        Connection::Url(written) => {
            for (name, template) in &written.headers {
                details.push(format!("header {name}: {}", value(name, template)));
            }
            if let Some(command) = &written.headers_helper {
                details.push(format!("headers of the command {command}"));
            }
            if let Some(OAuthDefinition::On(settings)) = &written.oauth {
                details.extend(login_details(settings));
            }
        }
    }
    for root in &definition.roots {
        details.push(format!("is told of the root {root}"));
    }
    if !definition.enabled {
        details.push("turned off".to_owned());
    }
    details
}

/// The value of a variable or header as it is written, unless its name is that of a secret.
///
/// Other listings also hide what looks random. Here that would let a file choose what the user does not see, such as
/// the name of a script in `NODE_OPTIONS`.
fn value(name: &str, written: &Template) -> String {
    match is_named_secret(name, written) {
        true => secret(written),
        false => written.to_string(),
    }
}

/// A secret is hidden, but not the variables, files and hosts in it: the server gets those, or is sent to them.
fn secret(written: &Template) -> String {
    if written.is_only_variables() {
        return written.to_string();
    }
    let mut parts = written.references();
    parts.extend(hosts(written.as_str()));
    match parts.is_empty() {
        true => HIDDEN.to_owned(),
        false => format!("{HIDDEN} with {}", parts.join(" ")),
    }
}

/// Schemes and hosts of all URLs in a text, without users and passwords.
fn hosts(text: &str) -> Vec<String> {
    let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let urls = text.match_indices("://").map(|(at, separator)| {
        let (before, after) = text.split_at(at);
        let after = after.strip_prefix(separator).unwrap_or_default();
        let scheme = before.trim_end_matches(is_of_scheme).len();
        let scheme = before.get(scheme..).unwrap_or_default();
        let ends = |c: char| c.is_whitespace() || "/?#\\\"'`".contains(c);
        let authority = after.split(ends).next().unwrap_or_default();
        let host = authority.rsplit('@').next().unwrap_or_default();
        format!("{scheme}://{host}")
    });
    urls.collect()
}

/// Lines that tell which hosts a login contacts, which files it reads, and what it sends.
fn login_details(written: &OAuthSettings) -> Vec<String> {
    let mut details = Vec::new();
    if let Some(account) = &written.account {
        details.push(format!("login of your account {account}"));
    }
    if let Some(id) = &written.client_id {
        details.push(format!("login as the client {id}"));
    }
    if let Some(template) = &written.client_secret {
        details.push(format!("login with the secret {}", secret(template)));
    }
    if !written.scopes.is_empty() {
        details.push(format!("login for {}", written.scopes.join(" ")));
    }
    // As JSON, so that no option is left out.
    let options = serde_json::to_value(&written.options);
    let options = options.as_ref().ok().and_then(Value::as_object);
    for (name, option) in options.into_iter().flatten() {
        details.extend(login_option(name, option));
    }
    details
}

/// Lines about one option of a login.
fn login_option(name: &str, option: &Value) -> Vec<String> {
    let text = match option {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    vec![match (name, option) {
        ("authorizationEndpoint", _) => format!("login at {text}"),
        ("tokenEndpoint", _) => format!("login sends codes, tokens and secrets to {text}"),
        ("redirectUri", _) => format!("login returns to {text}"),
        ("initialAccessTokenFile", _) => format!("login sends the file {text}"),
        ("caFile", _) => format!("login trusts the certificates of the file {text}"),
        ("allowPrivateAddresses", Value::Bool(true)) => {
            "login may contact this machine and private networks".to_owned()
        }
        ("authParams" | "tokenParams", Value::Object(params)) => {
            let params = params.iter().map(|(param, text)| {
                let text = Template::new(text.as_str().unwrap_or_default());
                format!("login sends {param}={}", value(param, &text))
            });
            return params.collect();
        }
        _ => format!("login with {name} {text}"),
    }]
}
