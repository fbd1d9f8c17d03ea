//! Logins: log in and check the login, list them, import those of another program, and choose the place of
//! their secrets.

mod import;
mod list;
mod log_in;
mod login_check;
mod route;
mod status;
mod store;

pub(crate) use route::run;
