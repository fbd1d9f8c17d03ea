//! Callgate's hub behind its HTTP server: one server at a URL, called `bench`, and others in this
//! process that are only listed.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use callgate_bench::listen;
use callgate_bench::workload::HUB_SERVER;
use callgate_hub::{Connector, Hub, HubConfig, ServerConfig, ServerName, ServerState, Upstream};
use callgate_mcp::transport::http::server::{HttpServerConfig, Listener};
use callgate_mcp::upstream::{HttpConfig, Remote};
use callgate_mcp::{BoxFuture, Call, Error, Implementation, Reply, Router, Service};

const USAGE: &str = "usage: ours_hub URL SERVERS TOOLS";

/// Time until all servers are listed, long enough under valgrind too.
const START_LIMIT: Duration = Duration::from_secs(120);

fn main() -> Result<()> {
    callgate_mcp::allocator::keep_freed_memory();
    tokio::runtime::Runtime::new()?.block_on(serve())
}

async fn serve() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = || arguments.next().context(USAGE);
    let (url, servers, tools) = (argument()?, argument()?, argument()?);
    let (servers, tools): (usize, usize) = (servers.parse()?, tools.parse()?);
    let hub = Hub::new(HubConfig::new(Implementation::new("bench", "1.0.0")));
    hub.add(server(HUB_SERVER, AtUrl(url))?)?;
    let others = servers.checked_sub(1).context(USAGE)?;
    for number in 0..others {
        let share = tools / others + usize::from(number < tools % others);
        hub.add(server(&format!("other{number}"), InMemory::new(share))?)?;
    }
    tokio::time::timeout(START_LIMIT, all_listed(&hub, tools))
        .await
        .context("a server does not connect")?;
    let address = (Ipv4Addr::LOCALHOST, 0).into();
    let server = Listener::bind(address, Arc::new(hub), HttpServerConfig::default()).await?;
    listen::announce(server.local_addr()?)?;
    server.run().await;
    Ok(())
}

fn server(name: &str, connector: impl Connector) -> Result<ServerConfig> {
    Ok(ServerConfig::new(
        ServerName::new(name)?,
        Arc::new(connector),
    ))
}

async fn all_listed(hub: &Hub, others: usize) {
    loop {
        let statuses = hub.statuses();
        let are_connected = statuses.iter().all(|s| s.state == ServerState::Connected);
        let tools: usize = statuses.iter().map(|status| status.tools).sum();
        if are_connected && tools > others {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

struct AtUrl(String);

impl Connector for AtUrl {
    fn connect(&self) -> BoxFuture<'_, Result<Arc<dyn Upstream>, Error>> {
        let remote = Remote::new(&self.0, HttpConfig::new("bench"));
        Box::pin(async { Ok(Arc::new(remote?) as Arc<dyn Upstream>) })
    }
}

#[derive(Clone)]
struct InMemory(Router);

impl InMemory {
    fn new(tools: usize) -> Self {
        let mut router = Router::new(Implementation::new("other", "1.0.0"));
        for number in 0..tools {
            router = router.tool(&format!("tool{number}"), "A tool", || async { "done" });
        }
        Self(router)
    }
}

impl Connector for InMemory {
    fn connect(&self) -> BoxFuture<'_, Result<Arc<dyn Upstream>, Error>> {
        let upstream: Arc<dyn Upstream> = Arc::new(self.clone());
        Box::pin(std::future::ready(Ok(upstream)))
    }
}

impl Service for InMemory {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        self.0.call(call)
    }
}

impl Upstream for InMemory {
    fn closed(&self) -> BoxFuture<'_, Error> {
        Box::pin(std::future::pending())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
