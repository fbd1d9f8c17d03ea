//! One file per command.

pub(crate) mod auth;
pub(crate) mod call;
pub(crate) mod connect;
pub(crate) mod debug;
pub(crate) mod disconnect;
pub(crate) mod doctor;
pub(crate) mod import;
pub(crate) mod list;
pub(crate) mod logout;
pub(crate) mod ps;
pub(crate) mod relay;
pub(crate) mod serve;
pub(crate) mod token;
