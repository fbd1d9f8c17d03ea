use std::path::Path;

use crate::data_dir::DataDir;
use crate::error::CommandError;
use crate::{output, token};

/// Prints the token that clients of `serve` must send.
pub(crate) fn run(data_dir: Option<&Path>, json: bool) -> Result<(), CommandError> {
    let token = token::load_or_create(&DataDir::locate(data_dir)?)?;
    if json {
        return Ok(output::member("token", &token)?);
    }
    Ok(output::text(&token)?)
}
