use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::config::load::{ConfiguredServer, Origin, parse_file};
use crate::config::mistake::Mistake;
use crate::config::places::PlacedFile;
use crate::config::read_file::FileContent;
use crate::config::trust::TrustStore;
use crate::config::{LoadOptions, Scope};
use crate::error::CommandError;
use crate::output;
use crate::visible::visible_line;

/// Checks files, and prints every mistake.
pub(super) fn run(
    files: &[PathBuf],
    options: &LoadOptions,
    json: bool,
) -> Result<(), CommandError> {
    let files = match files {
        [] => options.files(),
        files => files.iter().map(|path| options.placed(path)).collect(),
    };
    let is_named = !files.is_empty();
    let reports: Vec<Report> = files
        .into_iter()
        .filter(|file| file.exists() || file.scope == Scope::Flag)
        .map(|file| check(file, options))
        .collect();
    if json {
        let files: Vec<Value> = reports.iter().map(Report::json).collect();
        output::value(&json!({"files": files}))?;
    } else {
        for line in reports.iter().flat_map(Report::lines) {
            output::text(&visible_line(&line))?;
        }
        if reports.is_empty() && is_named {
            output::text("there is no configuration file here")?;
        }
    }
    match reports.iter().map(|report| report.mistakes.len()).sum() {
        0 => Ok(()),
        1 => Err(CommandError::usage("the configuration has a mistake")),
        count => Err(CommandError::usage(format!(
            "the configuration has {count} mistakes"
        ))),
    }
}

/// Result for one file.
struct Report {
    path: PathBuf,
    mistakes: Vec<Mistake>,
    /// Remarks that are no mistakes, such as variables that are not set here.
    notices: Vec<String>,
    servers: usize,
}

fn check(file: PlacedFile, options: &LoadOptions) -> Report {
    let mut report = Report {
        path: file.path.clone(),
        mistakes: Vec::new(),
        notices: Vec::new(),
        servers: 0,
    };
    match parse_file(&file.path) {
        Ok((content, hash)) => {
            report.servers = content.servers.len();
            report.notices = content.notices();
            let trust = TrustStore::open(options.data_dir.as_deref());
            match file.scope != Scope::Project || trust.contains(&file.path, &hash) {
                true => report.notices.extend(unresolved(content, file)),
                false => report
                    .notices
                    .push("the file is not trusted yet".to_owned()),
            }
        }
        Err(mistakes) => report.mistakes = mistakes.iter().cloned().collect(),
    }
    report
}

/// Reasons why servers of a trusted file cannot be used here.
fn unresolved(content: FileContent, file: PlacedFile) -> Vec<String> {
    let origin = Origin {
        path: file.path,
        scope: file.scope,
    };
    let servers = content.servers.into_iter();
    let servers = servers.filter(|(_, definition)| definition.enabled);
    let errors = servers.flat_map(|(name, definition)| {
        let server = ConfiguredServer {
            name,
            definition,
            origin: origin.clone(),
            trusted: true,
            neighbors: Vec::new(),
        };
        let errors = server.unresolved().into_iter();
        errors.map(|error| error.with_hints().replace("\nhint: ", "; "))
    });
    errors.collect()
}

impl Report {
    fn lines(&self) -> Vec<String> {
        let path = self.path.display();
        let mistakes = self.mistakes.iter();
        let mut lines: Vec<String> = mistakes.map(|mistake| line(&self.path, mistake)).collect();
        if lines.is_empty() {
            let servers = match self.servers {
                1 => "1 server".to_owned(),
                count => format!("{count} servers"),
            };
            lines.push(format!("{path}: ok, {servers}"));
        }
        // Each line begins with the path.
        let again = format!(" of {path}:");
        let notices = self.notices.iter();
        let notices = notices.map(|notice| notice.replacen(&again, ":", 1));
        lines.extend(notices.map(|notice| format!("{path}: notice: {notice}")));
        lines
    }

    fn json(&self) -> Value {
        let mistake = |mistake: &Mistake| {
            json!({
                "line": mistake.line,
                "key": mistake.key,
                "message": mistake.message,
                "hint": mistake.hint,
            })
        };
        json!({
            "path": self.path,
            "valid": self.mistakes.is_empty(),
            "mistakes": self.mistakes.iter().map(mistake).collect::<Vec<_>>(),
            "notices": self.notices,
        })
    }
}

fn line(path: &Path, mistake: &Mistake) -> String {
    let hint = mistake.hint.as_ref().map(|hint| format!("; {hint}"));
    format!(
        "{}:{}: {mistake}{}",
        path.display(),
        mistake.line,
        hint.unwrap_or_default()
    )
}
