//! rmcp over HTTP in its fastest form: stateless, JSON replies, `TCP_NODELAY`, no router in front.

use std::convert::Infallible;
use std::sync::Arc;

use anyhow::Result;
use callgate_bench::echo::rmcp::Echo;
use callgate_bench::listen;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

#[tokio::main]
async fn main() -> Result<()> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true);
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(|| Ok(Echo), sessions, config);
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
