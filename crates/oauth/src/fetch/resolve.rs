use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use callgate_mcp::BoxFuture;

/// Finds the addresses of a host.
pub trait Resolve: fmt::Debug + Send + Sync + 'static {
    /// The addresses of `host`, a name, the best one first.
    ///
    /// # Errors
    /// The name cannot be looked up, or there is no such name.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// Asks the operating system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address: SocketAddr| address.ip()).collect())
        })
    }
}
