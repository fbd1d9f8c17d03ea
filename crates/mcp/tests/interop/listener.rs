//! Services over HTTP, for clients of other implementations.

use std::sync::Arc;

use callgate_mcp::Service;
use callgate_mcp::transport::http::server::{self, HttpServerConfig};
use tokio::task::AbortHandle;

/// The names of the tools of our server.
pub(crate) const TOOLS: &[&str] = &[
    "add", "count", "wait", "greet", "quote", "roots", "touch", "fail", "later",
];

/// A service over HTTP, until this is dropped.
pub(crate) struct Listener {
    url: String,
    serving: AbortHandle,
}

impl Listener {
    pub(crate) async fn start(service: Arc<dyn Service>) -> Self {
        let loopback = ([127, 0, 0, 1], 0).into();
        let server = server::Listener::bind(loopback, service, HttpServerConfig::default()).await;
        let server = server.unwrap();
        let url = format!("http://{}", server.local_addr().unwrap());
        let serving = tokio::spawn(server.run()).abort_handle();
        Self { url, serving }
    }

    /// The one endpoint, of Streamable HTTP and HTTP+SSE.
    pub(crate) fn url(&self) -> String {
        format!("{}/mcp", self.url)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
