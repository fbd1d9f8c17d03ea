//! Our client against `@modelcontextprotocol/server-everything`, which speaks old revisions only.

use std::sync::Arc;

use callgate_mcp::client::{CallOptions, Client, SubscriptionEvent};
use callgate_mcp::upstream::Era;
use callgate_mcp::wire::completion::{CompleteArgument, CompleteParams, Reference};
use callgate_mcp::wire::subscription::SubscriptionFilter;
use callgate_mcp::wire::{Map, Version};
use serde_json::json;
use tokio::sync::Notify;

use crate::peer::{Listening, Program, npm_script, within};
use crate::upstream::{process, remote};
use crate::user::{call, client, logged, progress, tools};

const NOTE: &str = "demo://resource/dynamic/text/1";

/// The server on `transport`, which it calls `stdio`, `streamableHttp` or `sse`.
pub(crate) fn program(transport: &str) -> Program {
    let package = "@modelcontextprotocol/server-everything";
    npm_script(package, "dist/index.js").arg(transport)
}

/// The server for a port.
fn at(program: &Program) -> impl Fn(u16) -> Program {
    |port| program.clone().env("PORT", port.to_string())
}

async fn try_everything(client: &Client) {
    about(client).await;
    lists(client).await;
    completion(client).await;
    calls(client).await;
    questions(client).await;
    task(client).await;
    subscription(client).await;
    cancellation(client).await;
}

async fn about(client: &Client) {
    let about = client.discover().await.unwrap();
    let info = about.meta.unwrap().server_info().unwrap().unwrap();
    assert_eq!(info.name, "mcp-servers/everything");
    let instructions = about.instructions.unwrap();
    assert!(instructions.contains("Everything Server"), "{instructions}");
}

async fn lists(client: &Client) {
    let tools = tools(client).await;
    assert_eq!(tools[0], "echo");
    // These are only there for a client that can answer them.
    for tool in [
        "get-roots-list",
        "trigger-elicitation-request",
        "trigger-sampling-request",
    ] {
        assert!(tools.iter().any(|name| name == tool), "no {tool}");
    }
    let prompts = client.list_prompts().await.unwrap();
    let prompts: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
    let expected = [
        "simple-prompt",
        "args-prompt",
        "completable-prompt",
        "resource-prompt",
    ];
    assert_eq!(prompts, expected);
    let arguments = Map::from_iter([("city", "Linz".to_owned())]);
    let prompt = client.get_prompt("args-prompt", arguments).await.unwrap();
    let text = prompt.messages[0].content.as_text();
    assert_eq!(text, Some("What's weather in Linz?"));

    assert_eq!(client.list_resources().await.unwrap().len(), 7);
    let templates = client.list_resource_templates().await.unwrap();
    assert_eq!(
        templates[0].uri_template,
        "demo://resource/dynamic/text/{resourceId}"
    );
    let note = client.read_resource(NOTE).await.unwrap();
    assert_eq!(note.contents[0].uri(), NOTE);
    let missing = client.read_resource("demo://missing").await.unwrap_err();
    assert_eq!(missing.code(), -32602);
}

async fn completion(client: &Client) {
    let reference = Reference::prompt("completable-prompt");
    let argument = CompleteArgument::new("name", "A");
    let department = Map::from_iter([("department", "Engineering".to_owned())]);
    let params = CompleteParams::new(reference, argument).with_context(department);
    let completed = client.complete(&params).await.unwrap();
    assert_eq!(completed.completion.values, ["Alice"]);
}

async fn calls(client: &Client) {
    let echo = call(client, "echo", json!({"message": "hello"})).await;
    assert_eq!(echo, ["Echo: hello"]);
    let weather = json!({"location": "Chicago"});
    let weather = client.call_tool("get-structured-content", &weather).await;
    let weather = weather.unwrap().structured_content.unwrap();
    assert!(weather.as_str().contains("conditions"), "{weather:?}");
    let unknown = client.call_tool("unknown", &json!({})).await.unwrap();
    assert_eq!(unknown.is_error, Some(true));
    let steps = json!({"duration": 0.2, "steps": 2});
    let heard = progress(client, "trigger-long-running-operation", steps).await;
    assert_eq!(heard, [1.0, 2.0]);
}

async fn questions(client: &Client) {
    let form = call(client, "trigger-elicitation-request", json!({})).await;
    assert_eq!(form[1], "User inputs:\n- Name: Ada");
    let prompt = json!({"prompt": "Say something"});
    let model = call(client, "trigger-sampling-request", prompt).await;
    assert!(model[0].contains("\"text\": \"hi\""), "{model:?}");
    let roots = call(client, "get-roots-list", json!({})).await;
    assert!(roots[0].contains("file:///project"), "{roots:?}");
    let url = json!({"url": "https://example.com/", "message": "Go", "errorPath": true});
    let visited = call(client, "trigger-url-elicitation", url).await;
    assert!(visited[0].contains("User completed"), "{visited:?}");
}

async fn task(client: &Client) {
    let topic = json!({"topic": "rust", "ambiguous": true});
    let report = call(client, "simulate-research-query", topic).await;
    // It asks what was meant, and the form that Ada fills in says nothing of that.
    let title = "# Research Report: rust (User accepted without selection)";
    assert!(report[0].contains(title), "{report:?}");
}

async fn subscription(client: &Client) {
    let filter = SubscriptionFilter::new().with_resource(NOTE);
    let mut subscription = client.listen(&filter).await.unwrap();
    call(client, "toggle-subscriber-updates", json!({})).await;
    let event = subscription.next().await.unwrap().unwrap();
    let uri = NOTE.to_owned();
    assert_eq!(event, SubscriptionEvent::ResourceUpdated { uri });
    call(client, "toggle-subscriber-updates", json!({})).await;
}

async fn cancellation(client: &Client) {
    let begun = Arc::new(Notify::new());
    let begin = begun.clone();
    let options = CallOptions::default().on_progress(move |_| begin.notify_one());
    let long = client.with_options(options);
    let steps = json!({"duration": 100, "steps": 1000});
    tokio::select! {
        ended = long.call_tool("trigger-long-running-operation", &steps) => panic!("{ended:?}"),
        () = begun.notified() => {}
    }
    let echo = call(client, "echo", json!({"message": "again"})).await;
    assert_eq!(echo, ["Echo: again"]);
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn our_client_and_server_everything_over_stdio() {
    let program = program("stdio");
    within(async {
        let server = process(&program.child("everything"));
        let client = client(server.clone());
        try_everything(&client).await;
        let logged = logged(&client, "toggle-simulated-logging", json!({})).await;
        assert_eq!(logged, 1);
        assert_eq!(server.version(), Some(Version::V2025_11_25));
        server.close().await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn our_client_and_server_everything_over_streamable_http() {
    let program = program("streamableHttp");
    within(async {
        let listening = Listening::start("listening on port", at(&program)).await;
        let server = remote(&listening.url("/mcp"));
        try_everything(&client(server.clone())).await;
        assert_eq!(server.era(), Some(Era::OLD));
    })
    .await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn our_client_and_server_everything_over_http_and_sse() {
    let program = program("sse");
    within(async {
        let listening = Listening::start("running on port", at(&program)).await;
        let server = remote(&listening.url("/sse"));
        try_everything(&client(server.clone())).await;
        assert_eq!(server.era(), Some(Era::OLD));
    })
    .await;
}

/// It answers 400 to a session that it does not know, where 404 is due.
#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn our_client_and_server_everything_after_it_has_forgotten_its_sessions() {
    let program = program("streamableHttp");
    within(async {
        let ready = "listening on port";
        let mut listening = Listening::start(ready, at(&program)).await;
        let client = client(remote(&listening.url("/mcp")));
        call(&client, "echo", json!({"message": "hello"})).await;
        listening.restart(ready, at(&program)).await;
        let echo = call(&client, "echo", json!({"message": "again"})).await;
        assert_eq!(echo, ["Echo: again"]);
    })
    .await;
}
