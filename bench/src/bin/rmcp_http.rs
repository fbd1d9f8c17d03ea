//! rmcp over HTTP in its fastest form: `TCP_NODELAY`, no router in front; stateless with JSON
//! replies, or with sessions, whose replies are always event streams.

use std::convert::Infallible;
use std::sync::Arc;

use anyhow::Result;
use callgate_bench::echo::rmcp::Tools;
use callgate_bench::listen;
use callgate_bench::workload::{Era, era_argument};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

#[tokio::main]
async fn main() -> Result<()> {
    let config = StreamableHttpServerConfig::default();
    match era_argument()? {
        Era::Stateless => {
            let config = config
                .with_legacy_session_mode(false)
                .with_json_response(true);
            serve::<NeverSessionManager>(config).await
        }
        // Without the events that prepare a client for reconnecting.
        Era::Session => serve::<LocalSessionManager>(config.with_sse_retry(None)).await,
    }
}

async fn serve<M: SessionManager + Default>(config: StreamableHttpServerConfig) -> Result<()> {
    let service = StreamableHttpService::new(|| Ok(Tools), Arc::new(M::default()), config);
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
