//! `serve` as a service of the user, which the system starts at each login.
//!
//! # Layout
//! - [`program`]: the command of the service and its environment.
//! - [`systemd`], [`launchd`]: that as the text of a file, with the commands that start and stop it.
//! - [`platform`]: the one of them that this system has. [`install`]: the file of this user, installed and removed.
//! - [`running`]: whether the service serves.

pub(crate) mod install;
mod launchd;
pub(crate) mod platform;
pub(crate) mod program;
mod running;
mod system_command;
mod systemd;
