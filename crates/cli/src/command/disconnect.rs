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
        DisconnectPlan::RemoveEntry { .. } => {
            report(client, &file, "entry_removed", None, json, || {
                format!(
                    "disconnected {name}: {path} was changed since, so only our entry {done} removed"
                )
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
    let record = records.load(client)?;
    let file = match &record {
        Some((record, _)) => ClientFile {
            path: record.file.clone(),
            servers: record.servers.clone(),
        },
        None => main_file(client)?,
    };
    let current = file::read(&file.path)?;
    let known = record
        .as_ref()
        .map(|(record, backup)| (record, backup.as_slice()));
    let plan = plan_disconnect(client, &file, current.as_deref(), known)?;
    if !is_dry {
        let directories = known.map_or(&[][..], |(record, _)| &record.directories);
        match &plan {
            DisconnectPlan::Absent => {}
            DisconnectPlan::Restore { before, after } => {
                file::replace(&file.path, Some(before), after)?;
            }
            DisconnectPlan::RemoveEntry { before, after } => {
                file::replace(&file.path, Some(before), after.as_bytes())?;
            }
            DisconnectPlan::Remove { before } => file::remove(&file.path, before, directories)?,
        }
        records.remove(client)?;
    }
    Ok((file, plan))
}
