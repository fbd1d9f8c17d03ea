use std::fs;

use anyhow::Context;
use clap_mangen::{Man, generate_to};

use crate::browse_args;
use crate::error::CommandError;
use crate::{help, output};

/// Prints the manual page, or writes one for each command.
pub(crate) fn run(args: &browse_args::Man) -> Result<(), CommandError> {
    if let Some(directory) = &args.dir {
        let written =
            fs::create_dir_all(directory).and_then(|()| generate_to(help::command(), directory));
        return Ok(written.with_context(|| format!("cannot write to {}", directory.display()))?);
    }
    let mut page = Vec::new();
    Man::new(help::command()).render(&mut page)?;
    Ok(output::bytes(&page)?)
}
