use std::time::Duration;

use crate::catalog::Catalog;
use crate::watched::Watched;

/// State that the hub and the supervisors of its servers share.
pub(crate) struct Shared {
    pub(crate) catalog: Catalog,
    pub(crate) watched: Watched,
    /// Time for which the items of a server that is not connected stay in the lists.
    pub(crate) grace: Duration,
}
