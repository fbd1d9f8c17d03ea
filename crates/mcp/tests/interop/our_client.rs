//! Our client against a server on the official SDK.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use callgate_mcp::client::{Client, SubscriptionEvent};
use callgate_mcp::transport::http::client::{HttpConfig, ModernHttpClient};
use callgate_mcp::transport::line::{LineConfig, ModernConnection};
use callgate_mcp::wire::completion::{CompleteArgument, CompleteParams, Reference};
use callgate_mcp::wire::elicitation::ElicitResult;
use callgate_mcp::wire::implementation::Implementation;
use callgate_mcp::wire::subscription::SubscriptionFilter;
use callgate_mcp::wire::{Map, RawJson};
use callgate_mcp::{Kind, Service};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::ServiceExt;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::rmcp_server::Everything;

fn client(service: Arc<dyn Service>) -> Client {
    Client::builder(service)
        .info(Implementation::new("callgate", "1"))
        .elicitation(|form| async move {
            assert_eq!(form.message, "Who?");
            ElicitResult::accept(RawJson::encode(&json!({"name": "Ada"})).unwrap())
        })
        .tasks()
        .build()
}

async fn try_everything(client: &Client, server: &Everything) {
    about(client).await;
    tools(client, server).await;
    prompts_and_resources(client).await;
    changes(client).await;
}

async fn about(client: &Client) {
    let about = client.discover().await.unwrap();
    assert!(about.supported_versions.contains(&"2026-07-28".to_owned()));
    assert_eq!(about.instructions.as_deref(), Some("Try everything"));
    let meta = about.meta.unwrap();
    assert_eq!(
        meta.server_info().unwrap(),
        Some(Implementation::new("rmcp", "3.8.0"))
    );
}

async fn tools(client: &Client, server: &Everything) {
    let tools = client.list_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["add", "greet", "count", "wait", "fail", "later"]);

    let sum = client.call_tool("add", &json!({"a": 1, "b": 2})).await;
    let sum = sum.unwrap().structured_content.unwrap();
    assert_eq!(sum.as_str(), r#"{"sum":3}"#);

    let hello = client.call_tool("greet", &json!({})).await.unwrap();
    assert_eq!(hello.content[0].as_text(), Some("Hello, Ada"));

    let later = client.call_tool("later", &json!({})).await.unwrap();
    assert_eq!(later.content[0].as_text(), Some("Hello, Ada"));

    let failed = client.call_tool("fail", &json!({})).await.unwrap();
    assert_eq!(failed.is_error, Some(true));

    let unknown = client.call_tool("unknown", &json!({})).await.unwrap_err();
    assert_eq!((unknown.kind(), unknown.code()), (Kind::Rpc, -32602));

    let heard: Arc<Mutex<Vec<f64>>> = Arc::default();
    let progress = heard.clone();
    let options = client
        .options()
        .clone()
        .on_progress(move |params| progress.lock().unwrap().push(params.progress.as_f64()));
    let counting = client.with_options(options);
    counting.call_tool("count", &json!({})).await.unwrap();
    assert_eq!(*heard.lock().unwrap(), [1.0, 2.0, 3.0]);

    let nothing = json!({});
    tokio::select! {
        answer = client.call_tool("wait", &nothing) => panic!("unexpected {answer:?}"),
        () = server.waiting.notified() => {}
    }
    server.cancelled.notified().await;
}

async fn prompts_and_resources(client: &Client) {
    let prompts = client.list_prompts().await.unwrap();
    assert_eq!(prompts[0].name, "essay");
    let arguments = Map::from_iter([("topic", "rust".to_owned())]);
    let prompt = client.get_prompt("essay", arguments).await.unwrap();
    assert_eq!(
        prompt.messages[0].content.as_text(),
        Some("Write about rust")
    );

    let resources = client.list_resources().await.unwrap();
    assert_eq!(resources[0].uri, "note:1");
    let templates = client.list_resource_templates().await.unwrap();
    assert_eq!(templates[0].uri_template, "note:{id}");
    let note = client.read_resource("note:1").await.unwrap();
    assert_eq!(note.contents[0].uri(), "note:1");
    let missing = client.read_resource("note:2").await.unwrap_err();
    assert_eq!(missing.code(), -32602);

    let argument = CompleteArgument::new("topic", "a");
    let params = CompleteParams::new(Reference::prompt("essay"), argument);
    let completed = client.complete(&params).await.unwrap();
    assert_eq!(completed.completion.values, ["apple"]);
}

async fn changes(client: &Client) {
    let filter = SubscriptionFilter::new().with_tools().with_prompts();
    let mut subscription = client.listen(&filter).await.unwrap();
    let accepted = subscription.accepted();
    assert_eq!(accepted.tools_list_changed, Some(true));
    assert_ne!(accepted.prompts_list_changed, Some(true));
    let event = subscription.next().await.unwrap().unwrap();
    assert_eq!(event, SubscriptionEvent::ToolsListChanged);
    assert!(subscription.next().await.is_none());
}

#[tokio::test]
async fn our_client_and_an_rmcp_server_over_lines() {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let server = Everything::default();
    let serving = tokio::spawn({
        let server = server.clone();
        async move { server.serve(far).await.unwrap().waiting().await }
    });
    let (reader, writer) = tokio::io::split(near);
    let connection = Arc::new(ModernConnection::new(
        "rmcp",
        reader,
        writer,
        LineConfig::default(),
    ));
    let client = client(connection);
    try_everything(&client, &server).await;
    drop(client);
    serving.await.unwrap().unwrap();
}

/// Serves `server` over HTTP until the set is dropped, with JSON where that is enough or with
/// event streams only.
async fn serve(server: Everything, json: bool) -> (SocketAddr, JoinSet<()>) {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(json);
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let service = service.clone();
            connections.spawn(async move {
                let answer = service_fn(|request| async {
                    Ok::<_, Infallible>(service.handle(request).await)
                });
                let connection = http1::Builder::new();
                let _ = connection
                    .serve_connection(TokioIo::new(stream), answer)
                    .await;
            });
        }
    });
    (address, serving)
}

async fn over_http(json: bool) {
    let server = Everything::default();
    let (address, _serving) = serve(server.clone(), json).await;
    let http =
        ModernHttpClient::new(&format!("http://{address}/mcp"), HttpConfig::new("rmcp")).unwrap();
    try_everything(&client(Arc::new(http)), &server).await;
}

#[tokio::test]
async fn our_client_and_an_rmcp_server_over_http_with_json() {
    over_http(true).await;
}

#[tokio::test]
async fn our_client_and_an_rmcp_server_over_http_with_events() {
    over_http(false).await;
}
