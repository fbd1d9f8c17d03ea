use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::Service;
use callgate_mcp::transport::http::{client, server};
use callgate_mcp::transport::line;
use callgate_mcp::upstream::{Era, Remote, StreamPair, UpstreamConfig};
use callgate_mcp::wire::Version;
use tokio::io::{duplex, split};
use tokio::task::AbortHandle;

/// How a client speaks to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edge {
    over: Over,
    era: Era,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Stdio,
    Http,
    Sse,
}

/// Every transport in every era that has it.
pub(crate) const EDGES: [Edge; 5] = [
    Edge::stdio(Era::OLD),
    Edge::stdio(Era::Modern),
    Edge::http(Era::OLD),
    Edge::http(Era::Modern),
    Edge::SSE,
];

impl Edge {
    pub(crate) const SSE: Self = Self {
        over: Over::Sse,
        era: Era::OLD,
    };

    pub(crate) const fn stdio(era: Era) -> Self {
        let over = Over::Stdio;
        Self { over, era }
    }

    pub(crate) const fn http(era: Era) -> Self {
        let over = Over::Http;
        Self { over, era }
    }

    pub(crate) fn is_old(self) -> bool {
        !self.era.is_modern()
    }

    /// Whether all calls share one handshake.
    pub(crate) fn is_old_process(self) -> bool {
        self.is_old() && self.over == Over::Stdio
    }

    /// The revision that is spoken.
    pub(crate) fn version(self) -> Version {
        match self.era {
            Era::Modern => Version::LATEST,
            Era::Old(version) => version,
            era => unreachable!("no edge speaks {era:?}"),
        }
    }

    /// Serves `service`, and reaches it in this way.
    pub(crate) async fn reach(self, service: Arc<dyn Service>) -> Hop {
        match self.over {
            Over::Stdio => self.reach_by_lines(service),
            Over::Http | Over::Sse => self.reach_by_url(service).await,
        }
    }

    fn reach_by_lines(self, service: Arc<dyn Service>) -> Hop {
        let (ours, theirs) = duplex(64 * 1024);
        let (reader, writer) = split(theirs);
        let serving = line::serve(service, reader, writer, line::LineConfig::default());
        let (reader, writer) = split(ours);
        let stream = StreamPair::new("hop", reader, writer, line::LineConfig::default())
            .with_config(hurried());
        Hop {
            service: Arc::new(stream.assume(self.era)),
            serving: tokio::spawn(serving).abort_handle(),
        }
    }

    async fn reach_by_url(self, service: Arc<dyn Service>) -> Hop {
        let loopback = ([127, 0, 0, 1], 0).into();
        let server = server::Listener::bind(loopback, service, server::HttpServerConfig::default());
        let server = server.await.unwrap();
        let url = format!("http://{}/mcp", server.local_addr().unwrap());
        let remote = Remote::new(&url, client::HttpConfig::new("hop")).unwrap();
        let remote = match self.over {
            Over::Sse => remote.assume_sse(),
            Over::Http | Over::Stdio => remote.assume(self.era),
        };
        Hop {
            service: Arc::new(remote.with_config(hurried())),
            serving: tokio::spawn(server.run()).abort_handle(),
        }
    }
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let over = match self.over {
            Over::Stdio => "stdio",
            Over::Http => "HTTP",
            Over::Sse => "HTTP+SSE",
        };
        write!(f, "{over} {}", self.version().as_str())
    }
}

/// A served service, as its client sees it. Dropping it ends the server.
pub(crate) struct Hop {
    pub(crate) service: Arc<dyn Service>,
    serving: AbortHandle,
}

impl Drop for Hop {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Nobody here takes time to read a page.
fn hurried() -> UpstreamConfig {
    let mut config = UpstreamConfig::default();
    config.url_timeout = Duration::ZERO;
    config
}
