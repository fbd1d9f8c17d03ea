//! A server on HTTP.

use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::SessionLimits;
use callgate_mcp::router::{RequestCx, Router};
use callgate_mcp::transport::http::server::{HttpServerConfig, Listener};
use callgate_mcp::wire::implementation::Implementation;

/// Serves until the process is killed; the first line that is printed is the address.
pub(crate) fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let router = Router::new(Implementation::new("demo", "1.0"));
        let router = router.tool("echo", "", async |_: RequestCx| "echo".to_owned());
        let address = ([127, 0, 0, 1], 0).into();
        // What is opened stays open, however long a flood takes.
        let mut legacy = SessionLimits::default();
        legacy.unused = Duration::from_secs(3600);
        let mut config = HttpServerConfig::default();
        config.sessions = Some(legacy);
        let server = Listener::bind(address, Arc::new(router), config).await;
        let server = server.expect("a free port");
        println!("{}", server.local_addr().expect("an address"));
        server.run().await;
    });
}
