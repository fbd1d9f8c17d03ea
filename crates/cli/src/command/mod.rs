//! One file per command.

pub(crate) mod call;
pub(crate) mod list;
pub(crate) mod serve;
pub(crate) mod token;
