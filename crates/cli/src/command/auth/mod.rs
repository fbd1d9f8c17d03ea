//! Logins: log in, list them, and import those of another program.

mod import;
mod list;
mod log_in;
mod route;
mod status;

pub(crate) use route::run;
