use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::config::definition::Connection;
use crate::config::digest::ContentHash;
use crate::config::load::{parse_file, trust_command};
use crate::config::read_file::FileContent;
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
    // Values may be secrets, but variables and files that they come from matter to the user.
    let shown = definition.shown();
    match &shown.connection {
        Connection::Command(command) => {
            for (name, value) in &command.env {
                details.push(format!("variable {name}={value}"));
            }
            if let Some(file) = &command.env_file {
                details.push(format!("variables of the file {file}"));
            }
            if let Some(directory) = &command.cwd {
                details.push(format!("in the directory {directory}"));
            }
            if command.inherit_all {
                details.push("with all variables of your environment".to_owned());
            }
        }
        Connection::Url(url) => {
            for (name, value) in &url.headers {
                details.push(format!("header {name}: {value}"));
            }
            if let Some(command) = &url.headers_helper {
                details.push(format!("headers of the command {command}"));
            }
        }
    }
    if !definition.enabled {
        details.push("turned off".to_owned());
    }
    details
}
