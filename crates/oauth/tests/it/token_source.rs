//! Token source against a scripted provider: logins, refreshes and failures.

mod check;
mod endpoint;
mod grants;
mod login;
mod person;
mod processes;
mod provider;
mod refresh;
mod scene;
mod step_up;
mod torture;
