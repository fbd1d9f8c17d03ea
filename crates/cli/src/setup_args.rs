//! Options of `setup` and `service`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct Setup {
    /// Do all steps without a question
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,

    /// Show all steps, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Leave the files of the clients as they are
    #[arg(long)]
    pub(crate) no_connect: bool,

    /// Install no service
    #[arg(long)]
    pub(crate) no_service: bool,

    /// Take back everything that `setup` did
    #[arg(long, conflicts_with_all = ["yes", "no_connect", "no_service"])]
    pub(crate) undo: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ServiceArgs {
    #[command(subcommand)]
    pub(crate) action: ServiceAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServiceAction {
    /// Start `serve` now and at each login
    Install(ServiceInstall),
    /// Show if the service is installed, enabled and running
    Status,
    /// Stop the service and remove it
    Uninstall,
}

#[derive(Debug, Args)]
pub(crate) struct ServiceInstall {
    /// The directory that the workspace tools may use; without it, there are none
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,

    /// Show the file that would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
