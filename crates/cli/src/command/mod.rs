//! One file per command.

pub(crate) mod add;
pub(crate) mod auth;
pub(crate) mod call;
pub(crate) mod change;
pub(crate) mod config;
pub(crate) mod connect;
pub(crate) mod disconnect;
pub(crate) mod doctor;
pub(crate) mod get;
pub(crate) mod import;
pub(crate) mod list;
pub(crate) mod logout;
pub(crate) mod ps;
pub(crate) mod relay;
pub(crate) mod serve;
pub(crate) mod token;
