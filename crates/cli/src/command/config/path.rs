use serde_json::json;

use crate::config::places::PlacedFile;
use crate::config::{LoadOptions, Scope};
use crate::error::CommandError;
use crate::output;

/// Prints where configuration files are.
pub(super) fn run(all: bool, options: &LoadOptions, json: bool) -> Result<(), CommandError> {
    let files = options.files();
    if json {
        let files: Vec<_> = files
            .iter()
            .map(|file| json!({"path": file.path, "scope": file.scope, "exists": file.exists()}))
            .collect();
        return Ok(output::value(&json!({"files": files}))?);
    }
    if all {
        let row = |file: &PlacedFile| {
            let exists = if file.exists() {
                ""
            } else {
                " (not there yet)"
            };
            let path = file.path.display();
            (file.scope.to_string(), format!("{path}{exists}"))
        };
        let rows: Vec<_> = files.iter().map(row).collect();
        return Ok(output::table(&rows)?);
    }
    let written = files.iter().find(|file| file.scope != Scope::Project);
    match written {
        Some(file) => Ok(output::text(&file.path.display().to_string())?),
        None => Err(
            CommandError::usage("there is no directory for the file of the user")
                .hint("set HOME or XDG_CONFIG_HOME, or pass --config FILE"),
        ),
    }
}
