//! The configured servers: listed, called, served and shared by processes.

mod attach;
mod call;
mod list;
mod many;
mod results;
mod serve;
mod setup;
