use std::path::{Path, PathBuf};

use callgate_mcp::wire::RawJson;
use callgate_oauth::store::import::{self, Imported};
use serde::Serialize;

use crate::data_dir;
use crate::error::CommandError;
use crate::logins::Logins;
use crate::output;

/// Imports the logins of OpenCode.
pub(super) fn run(
    file: Option<&Path>,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let file = match file {
        Some(file) => file.to_owned(),
        None => usual_place()?,
    };
    let logins = Logins::unlock(data_dir)?;
    let imported = import::from_opencode(logins.store(), &file).map_err(|error| {
        CommandError::from(error).hint("name the file mcp-auth.json of OpenCode")
    })?;
    if json {
        let report = RawJson::encode(&Report::from(&imported)).map_err(anyhow::Error::from)?;
        return Ok(output::json(&report)?);
    }
    print(&imported)
}

/// File in which OpenCode stores its logins.
fn usual_place() -> Result<PathBuf, CommandError> {
    Ok(data_dir::base()?.join("opencode/mcp-auth.json"))
}

fn print(imported: &Imported) -> Result<(), CommandError> {
    for (names, what) in [
        (&imported.added, "imported"),
        (&imported.kept, "already stored, kept"),
        (&imported.skipped, "skipped, since it holds no usable login"),
    ] {
        let rows: Vec<_> = names
            .iter()
            .map(|name| (name.clone(), what.to_owned()))
            .collect();
        output::table(&rows)?;
    }
    if imported.added.is_empty() {
        output::note("nothing was imported");
    } else {
        output::note(
            "hint: do not use these servers in OpenCode any more: where a refresh token is good for one use, one of two programs loses its login",
        );
    }
    Ok(())
}

#[derive(Serialize)]
struct Report<'a> {
    added: &'a [String],
    kept: &'a [String],
    skipped: &'a [String],
}

impl<'a> From<&'a Imported> for Report<'a> {
    fn from(imported: &'a Imported) -> Self {
        Self {
            added: &imported.added,
            kept: &imported.kept,
            skipped: &imported.skipped,
        }
    }
}
