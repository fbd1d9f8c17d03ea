use callgate_wire::{Id, Method, RawJson};
use serde::Serialize;

use super::registry::Registry;
use crate::error::Error;
use crate::legacy::server::config::Config;
use crate::legacy::server::upstream::{Asking, Upstream};

/// The tasks of one session with a service that has them.
pub(in crate::legacy::server) struct Tasks {
    /// The service, asked as by a client of the extension.
    pub(super) upstream: Upstream,
    pub(super) registry: Registry,
}

impl Tasks {
    pub(in crate::legacy::server) fn new(upstream: &Upstream, config: &Config) -> Self {
        Self {
            upstream: upstream.with_tasks(),
            registry: Registry::new(config.tasks),
        }
    }

    /// Asks the service about tasks.
    pub(super) async fn ask(
        &self,
        id: &Id,
        method: &str,
        params: &impl Serialize,
    ) -> Result<RawJson, Error> {
        let asking = Asking {
            id,
            method: &Method::new(method),
            params: &RawJson::encode(params).expect("params are always JSON"),
            level: None,
        };
        self.upstream.result(&asking).await
    }
}
