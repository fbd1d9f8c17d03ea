use callgate_mcp::router::Router;
use callgate_mcp::wire::completion::CompleteParams;
use callgate_mcp::wire::implementation::Implementation;
use callgate_mcp::wire::prompt::Prompt;
use callgate_mcp::wire::resource::{Resource, ResourceTemplate};
use serde_json::{Value, json};

use super::ask::{Ask, demo_meta};

fn empty() -> Router {
    Router::new(Implementation::new("demo", "1.0"))
}

async fn capabilities(router: &Router) -> Value {
    let result = Ask::new("server/discover", json!({})).of(router).await;
    result.unwrap()["capabilities"].take()
}

#[tokio::test]
async fn discover_describes_the_server() {
    assert_eq!(
        Ask::new("server/discover", json!({}))
            .of(&empty().instructions("Be kind."))
            .await,
        Ok(json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"logging": {}},
            "instructions": "Be kind.",
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": demo_meta()
        }))
    );
}

#[tokio::test]
async fn capabilities_follow_from_the_registrations() {
    let list = json!({"listChanged": true});
    let router = empty().tool("t", "", || async {});
    assert_eq!(
        capabilities(&router).await,
        json!({"logging": {}, "tools": list})
    );
    // A client that has seen the capability keeps asking for the list, even if it is empty.
    router.remove_tool("t");
    assert_eq!(
        capabilities(&router).await,
        json!({"logging": {}, "tools": list})
    );

    let resources = json!({"subscribe": true, "listChanged": true});
    let router = empty()
        .prompt(Prompt::new("p", ""), || async { "" })
        .resource(Resource::new("test://r", "r"), || async { "" })
        .completion(|_: CompleteParams| async { Vec::<String>::new() });
    assert_eq!(
        capabilities(&router).await,
        json!({"logging": {}, "prompts": list, "resources": resources, "completions": {}})
    );
    let router =
        empty().resource_template(ResourceTemplate::new("test://{x}", "r"), || async { "" });
    assert_eq!(
        capabilities(&router).await,
        json!({"logging": {}, "resources": resources})
    );
}

#[tokio::test]
async fn methods_without_registrations_do_not_exist() {
    for method in [
        "tools/list",
        "tools/call",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "completion/complete",
        "tasks/get",
        "tasks/update",
        "tasks/cancel",
        "tasks/list",
        "tasks/result",
        "ping",
        "initialize",
        "logging/setLevel",
        "resources/subscribe",
        "no/such/method",
    ] {
        assert_eq!(
            Ask::new(method, json!({})).of(&empty()).await,
            Err(json!({"code": -32601, "message": format!("method `{method}` not found")}))
        );
    }
}
