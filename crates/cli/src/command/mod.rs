//! One file per command.

pub(crate) mod auth;
pub(crate) mod browse;
pub(crate) mod call;
pub(crate) mod completions;
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
