use clap_complete::generate;

use crate::browse_args::Completions;
use crate::error::CommandError;
use crate::{help, output};

/// Prints a script that completes our commands in a shell.
pub(crate) fn run(args: &Completions) -> Result<(), CommandError> {
    let mut script = Vec::new();
    generate(args.shell, &mut help::command(), "callgate", &mut script);
    Ok(output::bytes(&script)?)
}
