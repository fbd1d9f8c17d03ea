use std::env;
use std::io::{self, BufRead, IsTerminal};
use std::path::Path;

use callgate_mcp::wire::RawJson;
use serde::Serialize;

use super::import::places;
use crate::args::Connect;
use crate::clients::connection::{ConnectPlan, Record, Records, Remembered, plan_connect};
use crate::clients::diff::{diff, without_values};
use crate::clients::document::{Format, Node};
use crate::clients::entry::own::{self, Endpoint, NAME, TOKEN_VARIABLE};
use crate::clients::file;
use crate::clients::table::{self, Client, ClientFile, TokenForm};
use crate::config::digest::sha256;
use crate::data_dir::DataDir;
use crate::error::CommandError;
use crate::{output, token};

/// Adds this program to the file of a client.
pub(crate) fn run(
    args: &Connect,
    config: Option<&Path>,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let client = client(&args.client)?;
    let data = DataDir::locate(data_dir)?;
    let file = main_file(client)?;
    let mut endpoint = match args.http {
        true => Endpoint::Url {
            url: args.url.clone(),
            // A token that is not there yet is made with the write: before, nothing is written.
            token: token::load(&data)?.unwrap_or_else(|| NO_TOKEN_YET.to_owned()),
        },
        false => command(config, data_dir)?,
    };
    let records = Records::of(&data);
    let mut connecting = prepare(client, file, &endpoint, &records)?;
    let file = &connecting.file;
    let Some(change) = connecting.change(&endpoint) else {
        return report(client, file, "connected", None, json, || {
            format!(
                "{} is connected already ({})",
                client.name,
                file.path.display()
            )
        });
    };
    if !json {
        output::text(&format!("{}\n{change}", file.path.display()))?;
    }
    if args.dry_run || !args.yes && !confirmed(client, json)? {
        let change = Some(change.as_str());
        let state = if args.dry_run { "planned" } else { "declined" };
        return report(client, file, state, change, json, || {
            "nothing was written".to_owned()
        });
    }
    if let Endpoint::Url { token, .. } = &mut endpoint
        && token == NO_TOKEN_YET
    {
        *token = token::load_or_create(&data)?;
        connecting.plan_again(&endpoint)?;
    }
    connecting.write(&records)?;
    let file = &connecting.file;
    report(client, file, "connected", Some(&change), json, || {
        format!("connected {} ({})", client.name, file.path.display())
    })?;
    if !json {
        hints(client, &endpoint);
    }
    Ok(())
}

/// Stands for the token in a change that is shown before there is one.
const NO_TOKEN_YET: &str = "***";

/// Our entry on its way into the file of a client.
pub(super) struct Connecting {
    client: &'static Client,
    pub(super) file: ClientFile,
    remembered: Option<Remembered>,
    /// Bytes of the file.
    current: Option<Vec<u8>>,
    plan: ConnectPlan,
}

/// Decides how the file of a client gets our entry. Nothing is written.
pub(super) fn prepare(
    client: &'static Client,
    file: ClientFile,
    endpoint: &Endpoint,
    records: &Records,
) -> Result<Connecting, CommandError> {
    let entry = entry(client, endpoint)?;
    let remembered = records.load(client)?;
    check_place(client, &file, remembered.as_ref().map(|(record, _)| record))?;
    let current = file::read(&file.path)?;
    let plan = plan_connect(
        client,
        &file,
        current.as_deref(),
        remembered.as_ref(),
        &entry,
    )?;
    Ok(Connecting {
        client,
        file,
        remembered,
        current,
        plan,
    })
}

fn entry(client: &Client, endpoint: &Endpoint) -> Result<Node, CommandError> {
    own::entry(client, endpoint).ok_or_else(|| {
        let message = format!(
            "{} has no documented way to send a token to a server at a URL",
            client.name
        );
        CommandError::usage(message).hint(format!(
            "run `callgate connect {}` without --http",
            client.id
        ))
    })
}

impl Connecting {
    /// Decides anew for another endpoint, on the same bytes of the file.
    fn plan_again(&mut self, endpoint: &Endpoint) -> Result<(), CommandError> {
        self.plan = plan_connect(
            self.client,
            &self.file,
            self.current.as_deref(),
            self.remembered.as_ref(),
            &entry(self.client, endpoint)?,
        )?;
        Ok(())
    }

    /// True if the file has another entry of this program, which would be replaced.
    pub(super) fn replaces(&self) -> bool {
        matches!(&self.plan, ConnectPlan::Write { replaces: true, .. })
    }

    /// The changed lines of the file, without the token; `None` if the client is connected already.
    pub(super) fn change(&self, endpoint: &Endpoint) -> Option<String> {
        match &self.plan {
            ConnectPlan::Connected => None,
            ConnectPlan::Write { before, after, .. } => Some(change(
                before.as_deref(),
                after,
                endpoint,
                self.client.format,
            )),
        }
    }

    /// Writes the file of the client, and the backup that `disconnect` restores.
    pub(super) fn write(&self, records: &Records) -> Result<(), CommandError> {
        let ConnectPlan::Write {
            before,
            after,
            backup,
            ..
        } = &self.plan
        else {
            return Ok(());
        };
        let file = &self.file;
        let directories = match before {
            Some(_) => Vec::new(),
            None => file::make_directories(&file.path)?,
        };
        let kept = self.remembered.as_ref().filter(|_| backup.is_none());
        let kept = kept.map(|(record, _)| record);
        let record = Record {
            file: file.path.clone(),
            servers: file.servers.clone(),
            existed: kept.map_or_else(|| matches!(backup, Some(Some(_))), |kept| kept.existed),
            directories: kept.map_or(directories, |kept| kept.directories.clone()),
            after: sha256(after.as_bytes()).to_string(),
        };
        // The backup is stored first: a crash in between leaves a file that is as it was.
        let backup = backup
            .as_ref()
            .map(|bytes| bytes.as_deref().unwrap_or_default());
        records.store(self.client, &record, backup)?;
        file::replace(&file.path, before.as_deref(), after.as_bytes())
    }
}

/// There is one backup for each client: an entry in another file is removed before it is forgotten.
fn check_place(
    client: &Client,
    file: &ClientFile,
    record: Option<&Record>,
) -> Result<(), CommandError> {
    match record {
        Some(record) if record.file != file.path && record.file.exists() => {
            let (name, other) = (&client.name, record.file.display());
            let message = format!("{name} is connected in another file, {other}");
            let hint = format!("run `callgate disconnect {}` first", client.id);
            Err(CommandError::usage(message).hint(hint))
        }
        _ => Ok(()),
    }
}

/// The client with this name; the command line has checked it.
pub(super) fn client(name: &str) -> Result<&'static Client, CommandError> {
    table::find(name).ok_or_else(|| CommandError::usage(format!("no client `{name}`")))
}

/// The file of a client that has our entry, or gets it.
pub(super) fn main_file(client: &Client) -> Result<ClientFile, CommandError> {
    client.main_file(&places()).ok_or_else(|| {
        let message = format!("{} has no documented file on this system", client.name);
        CommandError::usage(message)
            .hint("the clients and their files are listed in docs/clients.md")
    })
}

/// Prints what became of the file of a client.
pub(super) fn report(
    client: &Client,
    file: &ClientFile,
    state: &'static str,
    diff: Option<&str>,
    json: bool,
    text: impl FnOnce() -> String,
) -> Result<(), CommandError> {
    #[derive(Serialize)]
    struct Report<'a> {
        client: &'a str,
        file: String,
        state: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        diff: Option<&'a str>,
    }
    if !json {
        return Ok(output::text(&text())?);
    }
    let report = Report {
        client: &client.id,
        file: file.path.to_string_lossy().into_owned(),
        state,
        diff,
    };
    let report = RawJson::encode(&report).map_err(anyhow::Error::from)?;
    Ok(output::json(&report)?)
}

/// The command that clients start, with the configuration and the state directory if they are named here.
pub(super) fn command(
    config: Option<&Path>,
    data_dir: Option<&Path>,
) -> Result<Endpoint, CommandError> {
    let own = env::current_exe().map_err(anyhow::Error::from)?;
    let own = own.canonicalize().unwrap_or(own);
    let paths = env::var_os("PATH").unwrap_or_default();
    let name = format!("{NAME}{}", env::consts::EXE_SUFFIX);
    // The first one on the path is what a client would start.
    let first = env::split_paths(&paths)
        .map(|dir| dir.join(&name))
        .find(|path| path.is_file());
    let is_on_path = first
        .and_then(|path| path.canonicalize().ok())
        .is_some_and(|path| path == own);
    let program = match is_on_path {
        true => NAME.to_owned(),
        false => utf8(&own)?,
    };
    let mut args = vec!["serve".to_owned(), "--stdio".to_owned()];
    for (option, path) in [("--config", config), ("--data-dir", data_dir)] {
        if let Some(path) = path {
            let path = std::path::absolute(path).map_err(anyhow::Error::from)?;
            args.extend([option.to_owned(), utf8(&path)?]);
        }
    }
    Ok(Endpoint::Command { program, args })
}

fn utf8(path: &Path) -> Result<String, CommandError> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let message = format!(
            "{} is not UTF-8, so it cannot be written to the file of a client",
            path.display()
        );
        CommandError::usage(message).hint("move it to another place")
    })
}

/// The changed lines of the file, without the token and the secrets of other servers.
fn change(before: Option<&[u8]>, after: &str, endpoint: &Endpoint, format: Format) -> String {
    let before = String::from_utf8_lossy(before.unwrap_or_default());
    let lines = without_values(&diff(&before, after), NAME, format);
    match endpoint {
        Endpoint::Url { token, .. } => lines.replace(token.as_str(), "***"),
        Endpoint::Command { .. } => lines,
    }
}

/// Asks the user on a terminal. A program that reads JSON has shown no change to the user.
fn confirmed(client: &Client, json: bool) -> Result<bool, CommandError> {
    if json || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let message = format!(
            "the file of {} is not written without a yes, and there is no terminal to ask on",
            client.name
        );
        return Err(CommandError::usage(message)
            .hint(format!("run `callgate connect {} --yes`", client.id)));
    }
    output::prompt("write this? [y/N] ");
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

fn hints(client: &Client, endpoint: &Endpoint) {
    output::note(&format!(
        "hint: restart {} to use it; `callgate disconnect {}` undoes this",
        client.name, client.id
    ));
    if matches!(endpoint, Endpoint::Command { .. }) {
        return;
    }
    match client.http {
        Some(TokenForm::Variable) => output::note(&format!(
            "hint: {} reads the token from the variable {TOKEN_VARIABLE}: run `export {TOKEN_VARIABLE}=\"$(callgate token)\"` where it starts",
            client.name
        )),
        _ => output::note(&format!(
            "warning: {} cannot read a variable, so the file holds the token itself",
            client.name
        )),
    }
    output::note("hint: the server must be running: `callgate serve`");
}
