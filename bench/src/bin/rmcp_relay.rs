//! The official SDK as a relay: a handler that calls its client.

use std::convert::Infallible;
use std::sync::Arc;

use anyhow::{Context, Result};
use callgate_bench::listen;
use callgate_bench::upstream::rmcp_http;
use callgate_bench::workload::Era;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ServerCapabilities, ServerConfig};
use rmcp::service::{Peer, RequestContext, RoleClient, RoleServer};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler};

#[derive(Clone)]
struct Relay(Peer<RoleClient>);

impl ServerHandler for Relay {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answer = self.0.call_tool_once(request).await;
        answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let upstream = std::env::args().nth(1).context("usage: rmcp_relay URL")?;
    let client = rmcp_http(&upstream, Era::Stateless).await?;
    let relay = Relay(client.peer().clone());
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true);
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(relay.clone()), sessions, config);
    let listener = listen::listen().await?;
    loop {
        let stream = listen::accept(&listener).await?;
        let service = service.clone();
        tokio::spawn(async move {
            let answer =
                service_fn(|request| async { Ok::<_, Infallible>(service.handle(request).await) });
            http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .await
        });
    }
}
