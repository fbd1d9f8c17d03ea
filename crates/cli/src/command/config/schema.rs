use crate::config::schema::schema;
use crate::error::CommandError;
use crate::output;

/// Prints the JSON Schema of configuration files.
pub(super) fn run() -> Result<(), CommandError> {
    Ok(output::text(&format!("{:#}", schema()))?)
}
