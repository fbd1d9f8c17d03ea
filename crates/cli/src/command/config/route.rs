use super::{path, schema, show, trust, validate};
use crate::config::LoadOptions;
use crate::config_args::{ConfigArgs, ConfigCommand};
use crate::error::CommandError;

/// Runs a command about configuration files.
pub(crate) fn run(
    args: &ConfigArgs,
    options: &LoadOptions,
    json: bool,
) -> Result<(), CommandError> {
    match &args.command {
        ConfigCommand::Path { all } => path::run(*all, options, json),
        ConfigCommand::Validate { files } => validate::run(files, options, json),
        ConfigCommand::Schema => schema::run(json),
        ConfigCommand::Show => show::run(options, json),
        ConfigCommand::Trust(args) => trust::run(args, options, json),
    }
}
