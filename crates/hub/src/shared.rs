use std::time::Duration;

use tokio::sync::watch;

use crate::catalog::Catalog;
use crate::watched::Watched;

/// State that the hub and the supervisors of its servers share.
pub(crate) struct Shared {
    pub(crate) catalog: Catalog,
    pub(crate) watched: Watched,
    /// Time for which the items of a server that is not connected stay in the lists.
    pub(crate) grace: Duration,
    /// Maximum number of subscriptions of all callers.
    pub(crate) max_subscriptions: usize,
    /// Number of changes of the state of any server.
    pub(crate) status_changes: watch::Sender<u64>,
}

impl Shared {
    /// Wakes those that wait for a change of the state of a server.
    pub(crate) fn status_changed(&self) {
        self.status_changes.send_modify(|changes| *changes += 1);
    }
}
