use std::path::Path;

use super::connect::{client, main_file, report};
use crate::args::Disconnect;
use crate::clients::connection::{DisconnectPlan, Records, plan_disconnect};
use crate::clients::file;
use crate::clients::table::{Client, ClientFile};
use crate::data_dir::DataDir;
use crate::error::CommandError;

/// Removes this program from the file of a client.
pub(crate) fn run(
    args: &Disconnect,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let client = client(&args.client)?;
    let records = Records::of(&DataDir::locate(data_dir)?);
    let (file, plan) = disconnect(client, &records, args.dry_run)?;
    let (name, path) = (&client.name, file.path.display());
    let done = if args.dry_run { "would be" } else { "is" };
    match plan {
        DisconnectPlan::Absent => report(client, &file, "absent", None, json, || {
            format!("{name} is not connected ({path})")
        }),
        DisconnectPlan::Restore { .. } => report(client, &file, "restored", None, json, || {
            format!("disconnected {name}: {path} {done} as it was before")
        }),
        DisconnectPlan::Remove { .. } => report(client, &file, "removed", None, json, || {
            format!("disconnected {name}: {path} {done} removed, since there was none before")
        }),
        DisconnectPlan::Entry { change, .. } => {
            report(client, &file, change.state(), None, json, || {
                format!("disconnected {name}: {}", change.text(&file.path, done))
            })
        }
    }
}

/// Removes our entry from the file of a client, or only tells how with `is_dry`.
pub(super) fn disconnect(
    client: &Client,
    records: &Records,
    is_dry: bool,
) -> Result<(ClientFile, DisconnectPlan), CommandError> {
    let remembered = records.load(client)?;
    let file = match &remembered {
        Some((record, _)) => ClientFile {
            path: record.file.clone(),
            servers: record.servers.clone(),
        },
        None => main_file(client)?,
    };
    let current = file::read(&file.path)?;
    let plan = plan_disconnect(client, &file, current.as_deref(), remembered.as_ref())?;
    if !is_dry {
        let record = remembered.as_ref().map(|(record, _)| record);
        let directories = record.map_or(&[][..], |record| &record.directories);
        match &plan {
            DisconnectPlan::Absent => {}
            DisconnectPlan::Restore { before, after } => {
                file::replace(&file.path, Some(before), after)?;
            }
            DisconnectPlan::Entry { before, after, .. } => {
                file::replace(&file.path, Some(before), after.as_bytes())?;
            }
            DisconnectPlan::Remove { before } => file::remove(&file.path, before, directories)?,
        }
        records.remove(client)?;
    }
    Ok((file, plan))
}
