use callgate_hub::ServerName;
use callgate_mcp::wire::RawJson;
use serde::Serialize;

use crate::clients::connection::{DisconnectPlan, Records};
use crate::clients::file;
use crate::clients::table;
use crate::command::disconnect::disconnect;
use crate::data_dir::DataDir;
use crate::error::CommandError;
use crate::output;
use crate::service::install;
use crate::setup::config_undo::{self, ConfigUndo};
use crate::setup::record::{ConfigChange, SetupRecord};

/// Takes back everything in the record. A part that fails stays in it, and does not keep the others.
pub(super) fn run(
    mut record: SetupRecord,
    data: &DataDir,
    is_dry: bool,
    json: bool,
) -> Result<(), CommandError> {
    let mut undone = Undone {
        is_dry,
        rows: Vec::new(),
        errors: Vec::new(),
    };
    if record.service {
        let outcome = undone.service(data);
        record.service = undone.keep(outcome);
    }
    let records = Records::of(data);
    record.clients.retain(|client| {
        let outcome = undone.client(client, &records);
        undone.keep(outcome)
    });
    if let Some(change) = &record.config {
        let outcome = undone.config(change);
        if !undone.keep(outcome) {
            record.config = None;
        }
    }
    if !is_dry {
        record.store(data)?;
    }
    undone.print(json)
}

/// Parts that were undone, and parts that failed.
struct Undone {
    is_dry: bool,
    rows: Vec<UndoneRow>,
    errors: Vec<CommandError>,
}

#[derive(Serialize)]
struct UndoneRow {
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    state: &'static str,
    #[serde(skip)]
    text: String,
}

impl Undone {
    /// Keeps the outcome of a part; true if the part stays in the record.
    fn keep(&mut self, outcome: Result<UndoneRow, CommandError>) -> bool {
        match outcome {
            Ok(row) => self.rows.push(row),
            Err(error) => {
                self.errors.push(error);
                return true;
            }
        }
        false
    }

    fn service(&self, data: &DataDir) -> Result<UndoneRow, CommandError> {
        let row = |state, text: &str| UndoneRow {
            what: "service".to_owned(),
            file: None,
            state,
            text: text.to_owned(),
        };
        if self.is_dry {
            return Ok(row("planned", "the service would be stopped and removed"));
        }
        Ok(match install::uninstall(data)? {
            install::Uninstalled::Removed => row("removed", "removed the service"),
            install::Uninstalled::Absent => row("absent", "the service is not installed"),
        })
    }

    fn client(&self, id: &str, records: &Records) -> Result<UndoneRow, CommandError> {
        let client =
            table::find(id).ok_or_else(|| CommandError::usage(format!("no client `{id}`")))?;
        let (file, plan) = disconnect(client, records, self.is_dry)?;
        let (name, path) = (&client.name, file.path.display().to_string());
        let done = if self.is_dry { "would be" } else { "is" };
        let (state, text) = match plan {
            DisconnectPlan::Absent => ("absent", format!("{name} is not connected ({path})")),
            DisconnectPlan::Restore { .. } => (
                "restored",
                format!("{name}: {path} {done} as it was before"),
            ),
            DisconnectPlan::Remove { .. } => ("removed", format!("{name}: {path} {done} removed")),
            DisconnectPlan::Entry { change, .. } => (
                change.state(),
                format!("{name}: {}", change.text(&file.path, done)),
            ),
        };
        Ok(UndoneRow {
            what: id.to_owned(),
            file: Some(path),
            state,
            text,
        })
    }

    fn config(&self, change: &ConfigChange) -> Result<UndoneRow, CommandError> {
        let current = file::read(&change.file)?;
        let plan = config_undo::plan(change, current.as_deref())?;
        if !self.is_dry {
            config_undo::carry_out(change, &plan, current.as_deref())?;
        }
        let path = change.file.display().to_string();
        let done = if self.is_dry { "would be" } else { "is" };
        let (state, text) = match plan {
            ConfigUndo::Absent => ("absent", format!("configuration: {path} is not there")),
            ConfigUndo::Restore => (
                "restored",
                format!("configuration: {path} {done} as it was before"),
            ),
            ConfigUndo::Remove => ("removed", format!("configuration: {path} {done} removed")),
            ConfigUndo::RemoveServers { removed, kept } => {
                let names: Vec<_> = removed.iter().map(ServerName::as_str).collect();
                let mut text = format!("configuration: {path} was changed since");
                if !names.is_empty() {
                    let names = names.join(", ");
                    let done = if self.is_dry { "would be " } else { "" };
                    text.push_str(&format!("; {done}removed from it: {names}"));
                }
                if !kept.is_empty() {
                    let kept = kept.join(", ");
                    text.push_str(&format!("; kept, because they were changed: {kept}"));
                }
                ("servers_removed", text)
            }
        };
        Ok(UndoneRow {
            what: "configuration".to_owned(),
            file: Some(path),
            state,
            text,
        })
    }

    fn print(self, json: bool) -> Result<(), CommandError> {
        if json {
            let rows = RawJson::encode(&self.rows).map_err(anyhow::Error::from)?;
            output::json(&rows)?;
        } else {
            for row in &self.rows {
                output::text(&row.text)?;
            }
            if self.rows.is_empty() && self.errors.is_empty() {
                output::note("`setup` has done nothing here that could be undone");
            }
        }
        let mut errors = self.errors.into_iter();
        let first = errors.next();
        for error in errors {
            error.warn("not undone");
        }
        match first {
            Some(error) => Err(error.hint("repair this, then run `callgate setup --undo` again")),
            None => Ok(()),
        }
    }
}
