use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::platform::{MARK, Platform, Step};
use super::program::ServiceProgram;
use super::running::{self, NotRunning};
use super::system_command::{run, typed};
use crate::clients::file;
use crate::data_dir::DataDir;
use crate::error::CommandError;
use crate::output;

/// Effect of `install` on the file of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InstallPlan {
    pub(crate) platform: Platform,
    pub(crate) path: PathBuf,
    before: Option<Vec<u8>>,
    text: String,
}

/// State of the file of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileState {
    /// There is none.
    Absent,
    /// It is as `install` would write it now.
    Current,
    /// It has another command, another `PATH` or the text of another version.
    Different,
}

/// The directories that were made for the file, which are removed with it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    directories: Vec<PathBuf>,
}

/// Name of the record in the data directory.
const RECORD: &str = "service.json";

impl InstallPlan {
    /// Looks at the file of this user. A file that this program did not write is an error.
    pub(crate) fn new(service: &ServiceProgram) -> Result<Self, CommandError> {
        let platform = Platform::of_this_system()?;
        let path = platform.file()?;
        let before = file::read(&path)?;
        if before.as_deref().is_some_and(|before| !is_ours(before)) {
            return Err(not_ours(&path));
        }
        let text = platform.text(service);
        Ok(Self {
            platform,
            path,
            before,
            text,
        })
    }

    /// The text of the file.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn state(&self) -> FileState {
        match &self.before {
            None => FileState::Absent,
            Some(before) if before == self.text.as_bytes() => FileState::Current,
            Some(_) => FileState::Different,
        }
    }

    /// Writes the file, starts the service and waits until it serves. The file stays if it does not: the error has
    /// the next command.
    pub(crate) fn carry_out(&self, data_dir: &DataDir) -> Result<(), CommandError> {
        if self.before.is_none() {
            let directories = file::make_directories(&self.path)?;
            store(data_dir, &Record { directories })?;
        }
        file::replace(&self.path, self.before.as_deref(), self.text.as_bytes())?;
        let is_replaced = self.state() == FileState::Different;
        let steps = self
            .platform
            .start(&self.path.to_string_lossy(), is_replaced);
        for (done, step) in steps.iter().enumerate() {
            if let Err(cause) = run(&step.words)
                && !step.may_fail
            {
                let rest = steps.get(done..).unwrap_or_default();
                return Err(self.not_started(&cause, rest));
            }
        }
        running::wait(self.platform, data_dir).map_err(|cause| self.not_running(&cause))
    }

    fn not_running(&self, cause: &NotRunning) -> CommandError {
        let path = self.path.display();
        let message = format!(
            "{path} is written, but the service does not run: {}",
            cause.text
        );
        let mut error = CommandError::usage(message);
        if let Some(other) = &cause.other {
            let (pid, url) = (other.process.pid, other.url.as_deref().unwrap_or_default());
            error = error.hint(format!(
                "another `callgate serve` runs, as process {pid} at {url}: end it if the service needs its address"
            ));
        }
        if let Some(log) = self.platform.log_command() {
            error = error.hint(format!("`{log}` shows why"));
        }
        error.hint("correct that, then run the same command again")
    }

    fn not_started(&self, cause: &str, rest: &[Step]) -> CommandError {
        let message = format!(
            "{} is written, but the service was not started: {cause}",
            self.path.display()
        );
        // Joined by `&&`, one that may fail would keep the others from running.
        let needed = rest.iter().filter(|step| !step.may_fail);
        let commands: Vec<_> = needed.map(|step| typed(&step.words)).collect();
        CommandError::usage(message)
            .hint(format!(
                "run `{}` in a login session of yours",
                commands.join(" && ")
            ))
            .hint("where there is none, such as in a container, run `callgate serve` yourself")
    }
}

/// Result of `uninstall`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Uninstalled {
    Absent,
    Removed,
}

/// Stops the service and removes its file.
pub(crate) fn uninstall(data_dir: &DataDir) -> Result<Uninstalled, CommandError> {
    let platform = Platform::of_this_system()?;
    let path = platform.file()?;
    let Some(before) = file::read(&path)? else {
        return Ok(Uninstalled::Absent);
    };
    if !is_ours(&before) {
        return Err(not_ours(&path));
    }
    let record_file = data_dir.file(RECORD);
    let record: Option<Record> = match file::read(&record_file)? {
        // Without a record only the directories stay.
        Some(bytes) => serde_json::from_slice(&bytes).ok(),
        None => None,
    };
    // A service that cannot be stopped from here, as without a login session, does not run or ends with its session.
    if let Err(cause) = run(&platform.stop()) {
        output::note(&format!("warning: the service was not stopped: {cause}"));
    }
    file::remove(&path, &before, &record.unwrap_or_default().directories)?;
    // The file is gone all the same: the next login does not know the service.
    let _ = platform.forget().map(|words| run(&words));
    match std::fs::remove_file(&record_file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(Uninstalled::Removed),
    }
}

/// True if services of the user can be started from here; else the reason.
pub(crate) fn is_available(platform: Platform) -> Result<(), String> {
    run(&platform.probe())
}

/// True if the service needs nothing: the system starts it at each login, and it serves now.
pub(crate) fn is_up(platform: Platform, data_dir: &DataDir) -> bool {
    is_enabled(platform) && running::is_running(platform, data_dir)
}

/// True if the system starts the service at each login.
pub(crate) fn is_enabled(platform: Platform) -> bool {
    run(&platform.is_enabled()).is_ok()
}

/// True for a file that this program wrote.
fn is_ours(bytes: &[u8]) -> bool {
    String::from_utf8_lossy(bytes).contains(MARK)
}

fn not_ours(path: &std::path::Path) -> CommandError {
    let message = format!("{} was not written by this program", path.display());
    CommandError::usage(message).hint("move it away, then run the same command again")
}

fn store(data_dir: &DataDir, record: &Record) -> Result<(), CommandError> {
    data_dir.create()?;
    let path = data_dir.file(RECORD);
    let before = file::read(&path)?;
    let json = serde_json::to_vec(record).map_err(anyhow::Error::from)?;
    file::replace(&path, before.as_deref(), &json)
}
