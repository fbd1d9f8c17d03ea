//! A client on the official SDK against our server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use callgate_mcp::router::{Router, ToolRoute};
use callgate_mcp::transport::http::server::{self, HttpServerConfig};
use callgate_mcp::transport::line::{LineConfig, serve};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, ClientCapabilities, ClientConfig,
    ElicitRequestParams, ElicitResult, ElicitationAction, ErrorData, GetPromptRequestParams,
    GetTaskParams, Implementation, InputResponses, JsonObject, ProgressNotificationParam,
    ProtocolVersion, ReadResourceRequestParams, ResourceUpdatedNotificationParam,
    ServerNotification, SubscriptionFilter, TaskPayload, TaskStatus, UpdateTaskParams,
};
use rmcp::service::{
    NotificationContext, RequestContext, RoleClient, RunningService, ServiceError, SubscriptionEnd,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::listener::TOOLS;
use crate::our_server::{Signals, everything};

/// A client that remembers the progress it heard of, and whose user is Ada.
#[derive(Clone, Default)]
pub(crate) struct Listener {
    progress: Arc<Mutex<Vec<f64>>>,
    /// Told when the list of tools changed.
    pub(crate) tools_changed: Arc<Notify>,
    /// Told when the first note changed.
    pub(crate) note_changed: Arc<Notify>,
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
        self.tools_changed.notify_one();
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        assert_eq!(params.uri, "note:1");
        self.note_changed.notify_one();
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let asked = serde_json::to_value(&request).unwrap();
        assert_eq!(asked["message"], "Who?");
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({"name": "Ada"})))
    }

    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder()
            .enable_elicitation()
            .enable_tasks()
            .build();
        ClientConfig::new(capabilities, Implementation::new("rmcp", "3.8.0"))
    }
}

pub(crate) type Running = RunningService<RoleClient, Listener>;

fn discover() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    }
}

fn object(value: Value) -> JsonObject {
    serde_json::from_value(value).unwrap()
}

pub(crate) fn call(name: &'static str) -> CallToolRequestParams {
    CallToolRequestParams::new(name)
}

fn code(error: &ServiceError) -> i32 {
    match error {
        ServiceError::McpError(error) => error.code.0,
        other => panic!("unexpected {other:?}"),
    }
}

async fn try_everything(client: &Running, server: &Router, signals: &Signals) {
    let about = client.peer_info().unwrap();
    assert_eq!(about.instructions.as_deref(), Some("Try everything"));
    tools(client, signals).await;
    prompts_and_resources(client, -32602).await;
    task(client).await;
    changes(client, server).await;
}

pub(crate) async fn tools(client: &Running, signals: &Signals) {
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(names, TOOLS);
    assert!(tools[0].output_schema.is_some());

    let numbers = call("add").with_arguments(object(json!({"a": 1, "b": 2})));
    let sum = client.call_tool(numbers).await.unwrap();
    assert_eq!(sum.structured_content, Some(json!({"sum": 3})));

    let invalid = call("add").with_arguments(object(json!({"a": "x", "b": 2})));
    let invalid = client.call_tool(invalid).await.unwrap();
    assert_eq!(invalid.is_error, Some(true));

    let failed = client.call_tool(call("fail")).await.unwrap();
    let text = &failed.content[0].as_text().unwrap().text;
    assert_eq!((failed.is_error, text.as_str()), (Some(true), "no"));

    let unknown = client.call_tool(call("unknown")).await.unwrap_err();
    assert_eq!(code(&unknown), -32602);

    let hello = client.call_tool(call("greet")).await.unwrap();
    assert_eq!(hello.content[0].as_text().unwrap().text, "Hello, Ada");

    client.call_tool(call("count")).await.unwrap();
    let heard = client.service().progress.lock().unwrap().clone();
    assert_eq!(heard, [1.0, 2.0, 3.0]);

    tokio::select! {
        answer = client.call_tool(call("wait")) => panic!("unexpected {answer:?}"),
        () = signals.waiting.notified() => {}
    }
    signals.cancelled.notified().await;
}

pub(crate) async fn prompts_and_resources(client: &Running, missing: i32) {
    let prompts = client.list_all_prompts().await.unwrap();
    assert_eq!(prompts[0].name, "essay");
    let topic = object(json!({"topic": "rust"}));
    let params = GetPromptRequestParams::new("essay").with_arguments(topic);
    let prompt = client.get_prompt(params).await.unwrap();
    let text = &prompt.messages[0].content.as_text().unwrap().text;
    assert_eq!(text, "Write about rust");

    let resources = client.list_all_resources().await.unwrap();
    assert_eq!(resources[0].uri, "note:1");
    let templates = client.list_all_resource_templates().await.unwrap();
    assert_eq!(templates[0].uri_template, "note:{id}");
    let read = async |uri: &str| {
        client
            .read_resource(ReadResourceRequestParams::new(uri))
            .await
    };
    for (uri, text) in [("note:1", "remember"), ("note:2", "forget")] {
        let note = serde_json::to_value(read(uri).await.unwrap()).unwrap();
        assert_eq!(note["contents"], json!([{"uri": uri, "text": text}]));
    }
    assert_eq!(code(&read("note:3").await.unwrap_err()), missing);

    let completed = client.complete_prompt_simple("essay", "topic", "a").await;
    assert_eq!(completed.unwrap(), ["apple"]);
}

async fn task(client: &Running) {
    let answer = client.peer().call_tool_once(call("later")).await.unwrap();
    let CallToolResponse::Task(created) = answer else {
        panic!("unexpected {answer:?}");
    };
    let id = created.task.task_id;
    let result = loop {
        let task = client.get_task(GetTaskParams::new(&id)).await.unwrap().task;
        match task.payload {
            TaskPayload::InputRequired { input_requests } => {
                let ada = json!({"action": "accept", "content": {"name": "Ada"}});
                let responses: InputResponses = input_requests
                    .into_keys()
                    .map(|key| (key, ada.clone()))
                    .collect();
                let params = UpdateTaskParams::new(&id, responses);
                client.update_task(params).await.unwrap();
            }
            TaskPayload::Completed { result } => break result,
            TaskPayload::Working => {}
            other => panic!("unexpected {other:?}"),
        }
        let wait = task.task.poll_interval_ms.unwrap();
        tokio::time::sleep(Duration::from_millis(wait)).await;
    };
    let text = json!([{"type": "text", "text": "Hello, Ada"}]);
    assert_eq!(result["content"], text);

    let answer = client.peer().call_tool_once(call("later")).await.unwrap();
    let CallToolResponse::Task(created) = answer else {
        panic!("unexpected {answer:?}");
    };
    let id = created.task.task_id;
    let cancel = CancelTaskParams::new(&id);
    client.cancel_task(cancel).await.unwrap();
    let task = client.get_task(GetTaskParams::new(&id)).await.unwrap().task;
    assert_eq!(task.payload.status(), TaskStatus::Cancelled);
}

async fn changes(client: &Running, server: &Router) {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut subscription = client.listen(filter.clone()).await.unwrap();
    assert_eq!(subscription.acknowledged(), &filter);
    let tool = ToolRoute::new("new", "Is new", || async { "new" });
    server.add_tool(tool).unwrap();
    let heard = subscription.next().await.unwrap();
    assert!(
        matches!(
            heard,
            Some(ServerNotification::ToolListChangedNotification(_))
        ),
        "{heard:?}"
    );
    subscription.cancel().await.unwrap();
    assert!(matches!(
        subscription.end(),
        Some(SubscriptionEnd::Cancelled)
    ));
}

#[tokio::test]
async fn an_rmcp_client_and_our_server_over_lines() {
    let signals = Signals::default();
    let router = everything(&signals);
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(far);
    let serving = tokio::spawn(serve(
        Arc::new(router.clone()),
        reader,
        writer,
        LineConfig::default(),
    ));
    let client = Listener::default().serve_with_lifecycle(near, discover());
    let client = client.await.unwrap();
    try_everything(&client, &router, &signals).await;
    client.cancel().await.unwrap();
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn an_rmcp_client_and_our_server_over_http() {
    let signals = Signals::default();
    let router = everything(&signals);
    let loopback = ([127, 0, 0, 1], 0).into();
    let server = server::Listener::bind(
        loopback,
        Arc::new(router.clone()),
        HttpServerConfig::default(),
    )
    .await;
    let server = server.unwrap();
    let url = format!("http://{}/mcp", server.local_addr().unwrap());
    let shutdown = server.shutdown_handle();
    let serving = tokio::spawn(server.run());
    let transport = StreamableHttpClientTransport::from_uri(url);
    let client = Listener::default().serve_with_lifecycle(transport, discover());
    let client = client.await.unwrap();
    try_everything(&client, &router, &signals).await;
    client.cancel().await.unwrap();
    shutdown.shutdown();
    serving.await.unwrap();
}
