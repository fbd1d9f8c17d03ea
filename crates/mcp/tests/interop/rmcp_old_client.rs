//! A client on the official SDK that shakes hands, against our server.

use std::sync::{Arc, Mutex};

use callgate_mcp::router::ToolRoute;
use callgate_mcp::transport::http::server::{Config, Server};
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationAction, ErrorData, Implementation, ProgressNotificationParam,
    ReadResourceRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt};
use serde_json::json;
use tokio::sync::Notify;

use crate::our_server::{Signals, everything};

/// A client that remembers what it heard of, and whose user is Ada.
#[derive(Clone, Default)]
struct Listener {
    progress: Arc<Mutex<Vec<f64>>>,
    changed: Arc<Notify>,
}

impl ClientHandler for Listener {
    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.progress.lock().unwrap().push(params.progress);
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({"name": "Ada"})))
    }

    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().build();
        ClientConfig::new(capabilities, Implementation::new("rmcp", "3.8.0"))
    }
}

#[tokio::test]
async fn an_rmcp_client_that_shakes_hands_and_our_server_over_http() {
    let router = everything(&Signals::default());
    let loopback = ([127, 0, 0, 1], 0).into();
    let server = Server::bind(loopback, Arc::new(router.clone()), Config::default()).await;
    let server = server.unwrap();
    let url = format!("http://{}/mcp", server.local_addr());
    let shutdown = server.shutdown_handle();
    let serving = tokio::spawn(server.run());
    let transport = StreamableHttpClientTransport::from_uri(url);
    let listener = Listener::default();
    let client = listener
        .clone()
        .serve_with_lifecycle(transport, ClientLifecycleMode::Initialize)
        .await
        .unwrap();
    let about = client.peer_info().unwrap();
    assert_eq!(about.instructions.as_deref(), Some("Try everything"));
    assert!(client.list_all_tools().await.unwrap().len() >= 5);

    let call = |name: &'static str| client.call_tool(CallToolRequestParams::new(name));
    let hello = call("greet").await.unwrap();
    assert_eq!(hello.content[0].as_text().unwrap().text, "Hello, Ada");
    call("count").await.unwrap();
    assert_eq!(*listener.progress.lock().unwrap(), [1.0, 2.0, 3.0]);

    let unknown = client.read_resource(ReadResourceRequestParams::new("note:3"));
    match unknown.await.unwrap_err() {
        ServiceError::McpError(error) => assert_eq!(error.code.0, -32002),
        other => panic!("unexpected {other:?}"),
    }

    // The client opens its stream when it likes.
    let told = async {
        loop {
            let tool = ToolRoute::new("new", "Is new", || async { "new" });
            router.add_tool(tool).unwrap();
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = listener.changed.notified() => {}
        () = told => {}
    }
    client.cancel().await.unwrap();
    shutdown.shutdown();
    serving.await.unwrap();
}
