//! Old clients and the services they use.

use std::future::Future;
use std::sync::Arc;

use callgate_mcp::transport::line::LineConfig;
use callgate_mcp::{Call, Error, Reply, Service};
use tokio::task::JoinHandle;

use crate::stdio_fixture::{RawPeer, complete, service};

/// What the services of these tests say of themselves.
pub(super) const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"logging":{},"completions":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}},"instructions":"Be kind.","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"files","version":"3"}}}"#;

/// Everything that a client of 2025-11-25 may be asked.
pub(super) const ASKABLE: &str =
    r#"{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}}"#;

/// A service that can be discovered, and answers all else by a function.
pub(super) fn discoverable<F, R>(answer: F) -> Arc<dyn Service>
where
    F: Fn(Call) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Reply, Error>> + Send + 'static,
{
    let answer = Arc::new(answer);
    service(move |call| {
        let answer = answer.clone();
        async move {
            match call.method.as_str() {
                "server/discover" => complete(DISCOVERED),
                _ => answer(call).await,
            }
        }
    })
}

pub(super) fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

pub(super) fn error(id: &str, error: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
}

pub(super) fn initialize(version: &str, capabilities: &str) -> String {
    request(
        r#""hello""#,
        "initialize",
        &format!(
            r#"{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{{"name":"old","version":"1"}}}}"#
        ),
    )
}

/// An old client whose session is open and that is ready for everything.
pub(super) async fn old_client(
    service: Arc<dyn Service>,
    version: &str,
    capabilities: &str,
) -> (RawPeer, JoinHandle<Result<(), Error>>) {
    old_client_with(service, version, capabilities, LineConfig::default()).await
}

pub(super) async fn old_client_with(
    service: Arc<dyn Service>,
    version: &str,
    capabilities: &str,
    config: LineConfig,
) -> (RawPeer, JoinHandle<Result<(), Error>>) {
    let (mut peer, server) = RawPeer::of_server(service, config);
    peer.send(&initialize(version, capabilities)).await;
    let opened = peer.line().await.expect("an answer to the handshake");
    let expect = format!(
        r#"{{"jsonrpc":"2.0","id":"hello","result":{{"protocolVersion":"{version}","capabilities":"#
    );
    assert!(opened.starts_with(&expect), "{opened}");
    peer.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    (peer, server)
}

/// The limits of old clients, with some changed.
pub(super) fn limited(change: impl FnOnce(&mut callgate_mcp::SessionLimits)) -> LineConfig {
    let mut legacy = callgate_mcp::SessionLimits::default();
    change(&mut legacy);
    {
        let mut config = LineConfig::default();
        config.sessions = Some(legacy);
        config
    }
}
