//! One login is enough: tokens are got, kept and renewed, whatever the provider is like.

mod grants;
mod login;
mod person;
mod processes;
mod provider;
mod renewal;
mod scene;
mod step_up;
mod torture;
