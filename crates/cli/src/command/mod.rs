//! One file per command.

pub(crate) mod add;
pub(crate) mod auth;
pub(crate) mod browse;
pub(crate) mod call;
pub(crate) mod change;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod connect;
pub(crate) mod disconnect;
pub(crate) mod doctor;
pub(crate) mod get;
pub(crate) mod import;
pub(crate) mod inspect;
pub(crate) mod list;
pub(crate) mod logout;
pub(crate) mod man;
pub(crate) mod overview;
pub(crate) mod prompt;
pub(crate) mod prompts;
pub(crate) mod ps;
pub(crate) mod read;
pub(crate) mod relay;
pub(crate) mod resources;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod token;
