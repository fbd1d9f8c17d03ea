//! Peers as upstreams, whatever revision they speak.

use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::transport::child::ChildConfig;
use callgate_mcp::transport::http::client::HttpConfig;
use callgate_mcp::upstream::{Era, Process, Remote, UpstreamConfig};

/// A server on its standard streams.
pub(crate) fn process(config: &ChildConfig) -> Arc<Process> {
    Arc::new(Process::spawn(config).unwrap().with_config(hurried()))
}

/// A server on its standard streams that is spoken to in one of its eras.
pub(crate) fn process_of(era: Era, config: &ChildConfig) -> Arc<Process> {
    Arc::new(
        Process::spawn(config)
            .unwrap()
            .with_config(hurried())
            .assume(era),
    )
}

/// A server behind a URL.
pub(crate) fn remote(url: &str) -> Arc<Remote> {
    Arc::new(connect(url))
}

/// A server behind a URL that is spoken to in one of its eras.
pub(crate) fn remote_of(era: Era, url: &str) -> Arc<Remote> {
    Arc::new(connect(url).assume(era))
}

fn connect(url: &str) -> Remote {
    let config = HttpConfig::new("remote");
    Remote::new(url, config).unwrap().with_config(hurried())
}

/// No server here says when a user is done with a page, so there is no use in waiting for that.
fn hurried() -> UpstreamConfig {
    let mut config = UpstreamConfig::default();
    config.url_timeout = Duration::ZERO;
    config
}
