use std::sync::Arc;

use bytes::Bytes;
use callgate_wire::Limits;

use super::outlet::Outlet;
use super::session::Session;
use crate::error::{Error, Kind};

/// Works on a JSON array of messages, which only 2025-03-26 has.
///
/// Notifications and questions go to `outlet` as they come, the responses together at the end in
/// one array. Says whether there will be a response at all.
///
/// # Errors
/// The array is refused as a whole.
pub(crate) fn receive(
    session: &Arc<Session>,
    array: &Bytes,
    limits: &Limits,
    outlet: Arc<dyn Outlet>,
) -> Result<bool, Error> {
    let _ = (session, array, limits, outlet);
    Err(Error::new(Kind::InvalidRequest, "not yet"))
}
