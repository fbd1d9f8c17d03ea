//! Logins: log in and check the login, list them, and import those of another program.

mod import;
mod list;
mod log_in;
mod login_check;
mod route;
mod status;

pub(crate) use route::run;
