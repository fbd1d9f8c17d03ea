//! Commands about configuration files.

mod path;
mod route;
mod schema;
mod show;
mod trust;
mod validate;

pub(crate) use route::run;
