use std::path::Path;

use super::{import, list, log_in, store};
use crate::error::CommandError;
use crate::login_args::{Auth, AuthCommand};

/// Logs in to a server, or runs the subcommand.
pub(crate) async fn run(
    args: &Auth,
    config: Option<&Path>,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    match &args.command {
        None => log_in::run(&args.login, config, data_dir, json).await,
        Some(AuthCommand::List) => list::run(data_dir, json),
        Some(AuthCommand::Import { file }) => import::run(file.as_deref(), data_dir, json),
        Some(AuthCommand::Store { place }) => store::run(*place, data_dir, json),
    }
}
