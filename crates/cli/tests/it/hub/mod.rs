//! The configured servers: listed, called, served and shared by processes.

mod attach;
mod call;
mod list;
mod login;
mod many;
mod results;
mod roots;
mod serve;
mod setup;
mod share;
