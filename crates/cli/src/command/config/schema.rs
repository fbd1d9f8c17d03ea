use crate::config::schema::schema;
use crate::error::CommandError;
use crate::output;

/// Prints the JSON Schema of configuration files, for a program in one line.
pub(super) fn run(json: bool) -> Result<(), CommandError> {
    match json {
        true => Ok(output::value(&schema())?),
        false => Ok(output::text(&format!("{:#}", schema()))?),
    }
}
