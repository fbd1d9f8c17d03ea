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
        let written = written.with_context(|| format!("cannot write to {}", directory.display()));
        return written.map_err(|error| {
            CommandError::from(error).hint("name a directory that you can write to")
        });
    }
    let mut page = Vec::new();
    Man::new(help::command()).render(&mut page)?;
    Ok(output::bytes(&page)?)
}
