//! Servers of any era behind a URL. `sl_c…` and `hs_…` name rules of the old transports, `hc_…` the
//! hard cases of bringing eras together.

mod eras;
pub(crate) mod old_server;
mod sessions;
mod streamable;
mod streams;
mod two_endpoints;
