use std::collections::BTreeMap;

use callgate_hub::{ToolChange, ToolPolicy};
use callgate_mcp::RawJson;
use callgate_mcp::router::ToolRoute;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::fake_server::{FakeServer, hub, router, wait_for};

#[derive(Deserialize, Serialize, JsonSchema)]
struct Search {
    query: String,
    root: String,
    limit: u32,
}

/// A server with a tool that returns its arguments, and two others.
fn server() -> FakeServer {
    let search = ToolRoute::new("search", "Searches", |search: Search| async move {
        serde_json::to_string(&search).unwrap()
    });
    let plain = |name: &str| ToolRoute::new(name, "Says yes", || async { "yes" });
    let router = router("s").route(search).route(plain("read_a"));
    FakeServer::new(router.route(plain("delete_a")))
}

fn policy() -> ToolPolicy {
    let mut search = ToolChange::new();
    search.name = Some("find".to_owned());
    search.description = Some("Finds files of the project".to_owned());
    search.fixed = BTreeMap::from([("root".to_owned(), RawJson::string("/srv"))]);
    search.defaults = BTreeMap::from([("limit".to_owned(), RawJson::encode(&10).unwrap())]);
    let mut policy = ToolPolicy::new();
    policy.deny = vec!["delete_*".into()];
    policy.changes = BTreeMap::from([("search".to_owned(), search)]);
    policy
}

#[tokio::test(start_paused = true)]
async fn tools_are_filtered_renamed_and_described_anew() {
    let (hub, client) = hub(&[]);
    let server = server();
    let mut config = server.config("s");
    config.tools = policy();
    hub.add(config).unwrap();
    wait_for(&hub, "s", "connected", 2).await;
    let tools = client.list_tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["s_find", "s_read_a"]);
    let find = &tools[0];
    assert_eq!(
        find.description.as_deref(),
        Some("Finds files of the project")
    );
    let schema: serde_json::Value = RawJson::encode(&find.input_schema)
        .unwrap()
        .decode()
        .unwrap();
    assert_eq!(schema["required"], json!(["query"]));
    assert_eq!(schema["properties"]["limit"]["default"], json!(10));
    assert_eq!(schema["properties"]["root"], json!(null));
}

#[tokio::test(start_paused = true)]
async fn a_call_gets_the_fixed_values_and_the_defaults() {
    let (hub, client) = hub(&[]);
    let server = server();
    let mut config = server.config("s");
    config.tools = policy();
    hub.add(config).unwrap();
    wait_for(&hub, "s", "connected", 2).await;
    for (sent, limit) in [
        (json!({ "query": "x" }), 10),
        (json!({ "query": "x", "root": "/etc", "limit": 3 }), 3),
    ] {
        let result = client.call_tool("s_find", &sent).await.unwrap();
        let got = result.content[0].as_text().unwrap();
        let got: serde_json::Value = serde_json::from_str(got).unwrap();
        assert_eq!(got, json!({ "query": "x", "root": "/srv", "limit": limit }));
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_not_offered_is_unknown() {
    let (hub, client) = hub(&[]);
    let server = server();
    let mut config = server.config("s");
    config.tools = policy();
    hub.add(config).unwrap();
    wait_for(&hub, "s", "connected", 2).await;
    for name in ["s_delete_a", "delete_a", "s_search", "search"] {
        let error = client.call_tool(name, &json!({})).await.unwrap_err();
        assert_eq!(error.to_string(), format!("unknown tool `{name}`"));
    }
    assert_eq!(server.calls(), 0);
}
