//! A client on the official SDK against our server, with the handshake of the old revisions.

use std::sync::Arc;

use callgate_mcp::router::{Router, ToolRoute};
use callgate_mcp::transport::line::{LineConfig, serve};
use rmcp::model::{ProtocolVersion, SubscribeRequestParams};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientLifecycleMode, ClientServiceExt};

use crate::listener::Listener as Http;
use crate::our_server::{Signals, everything};
use crate::peer::within;
use crate::rmcp_client::{Listener, Running, call, prompts_and_resources, tools};

async fn try_everything(client: &Running, server: &Router, signals: &Signals) {
    let about = client.peer_info().unwrap();
    assert_eq!(about.protocol_version, ProtocolVersion::V_2025_11_25);
    assert_eq!(about.instructions.as_deref(), Some("Try everything"));
    tools(client, signals).await;
    prompts_and_resources(client, -32002).await;
    changes(client, server).await;
}

async fn changes(client: &Running, server: &Router) {
    let listener = client.service();
    #[expect(deprecated, reason = "the old revisions have it")]
    let subscribed = client
        .subscribe(SubscribeRequestParams::new("note:1"))
        .await;
    subscribed.unwrap();
    client.call_tool(call("touch")).await.unwrap();
    listener.note_changed.notified().await;
    let tool = ToolRoute::new("new", "Is new", || async { "new" });
    server.add_tool(tool).unwrap();
    listener.tools_changed.notified().await;
}

#[tokio::test]
async fn an_old_rmcp_client_and_our_server_over_lines() {
    let signals = Signals::default();
    let router = everything(&signals);
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(far);
    let service = Arc::new(router.clone());
    let serving = tokio::spawn(serve(service, reader, writer, LineConfig::default()));
    within(async {
        let client =
            Listener::default().serve_with_lifecycle(near, ClientLifecycleMode::Initialize);
        let client = client.await.unwrap();
        try_everything(&client, &router, &signals).await;
        client.cancel().await.unwrap();
        serving.await.unwrap().unwrap();
    })
    .await;
}

#[tokio::test]
async fn an_old_rmcp_client_and_our_server_over_http() {
    let signals = Signals::default();
    let router = everything(&signals);
    let server = Http::start(Arc::new(router.clone())).await;
    within(async {
        let transport = StreamableHttpClientTransport::from_uri(server.url());
        let client =
            Listener::default().serve_with_lifecycle(transport, ClientLifecycleMode::Initialize);
        let client = client.await.unwrap();
        try_everything(&client, &router, &signals).await;
        client.cancel().await.unwrap();
    })
    .await;
}
