use std::sync::Arc;

use callgate_hub::{Connector, Upstream};
use callgate_mcp::router::Router;
use callgate_mcp::{BoxFuture, Call, Error, Reply, Service, Version};

/// Connects a router of this process as a server of the hub. It never ends.
pub(super) struct BuiltInConnector(pub(super) Arc<Router>);

struct BuiltIn(Arc<Router>);

impl Connector for BuiltInConnector {
    fn connect(&self) -> BoxFuture<'_, Result<Arc<dyn Upstream>, Error>> {
        let upstream: Arc<dyn Upstream> = Arc::new(BuiltIn(self.0.clone()));
        Box::pin(std::future::ready(Ok(upstream)))
    }
}

impl Service for BuiltIn {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        self.0.call(call)
    }
}

impl Upstream for BuiltIn {
    fn closed(&self) -> BoxFuture<'_, Error> {
        Box::pin(std::future::pending())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn version(&self) -> Option<Version> {
        Some(Version::LATEST)
    }
}
