//! Steps of `setup`, and the record by which they are taken back.
//!
//! # Layout
//! - [`record`]: effects of `setup`, in the data directory. [`config_undo`]: our configuration as it was before.
//! - [`found_clients`]: the clients on this machine that can be connected.

pub(crate) mod config_undo;
pub(crate) mod found_clients;
pub(crate) mod record;
