use std::time::Duration;

use callgate_mcp::router::{Router, ToolRoute};
use callgate_mcp::wire::cache::CacheScope;
use callgate_mcp::wire::implementation::Implementation;
use callgate_mcp::wire::prompt::Prompt;
use callgate_mcp::wire::resource::{Resource, ResourceTemplate};
use serde_json::{Value, json};

use super::ask::{Ask, demo_meta};

fn demo() -> Router {
    let router = Router::new(Implementation::new("demo", "1.0"));
    ["d", "a", "c", "b", "e"]
        .into_iter()
        .fold(router, |router, name| {
            router
                .tool(name, "", || async {})
                .prompt(Prompt::new(name, ""), || async { "" })
                .resource(Resource::new(format!("test://{name}"), name), || async {
                    ""
                })
                .resource_template(
                    ResourceTemplate::new(format!("test://{name}/{{x}}"), name),
                    || async { "" },
                )
        })
}

/// The names on each page of a list.
async fn pages(router: &Router, method: &'static str, key: &str) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut params = json!({});
    loop {
        let page = Ask::new(method, params).of(router).await.unwrap();
        let items = page[key].as_array().unwrap();
        let name = |item: &Value| item["name"].as_str().unwrap().to_owned();
        pages.push(items.iter().map(name).collect());
        assert_eq!(
            (&page["ttlMs"], &page["cacheScope"]),
            (&json!(0), &json!("private"))
        );
        match page.get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return pages,
        }
    }
}

#[tokio::test]
async fn every_list_comes_in_pages_in_the_order_of_registration() {
    let router = demo().page_size(2);
    for (method, key) in [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        assert_eq!(
            pages(&router, method, key).await,
            [vec!["d", "a"], vec!["c", "b"], vec!["e"]],
            "{method}"
        );
    }
}

#[tokio::test]
async fn a_page_has_at_least_one_item() {
    assert_eq!(
        pages(&demo().page_size(0), "tools/list", "tools")
            .await
            .len(),
        5
    );
}

#[tokio::test]
async fn pages_stay_right_while_the_list_changes() {
    let router = demo().page_size(2);
    let first = Ask::new("tools/list", json!({})).of(&router).await.unwrap();
    router.remove_tool("d");
    router.remove_tool("a");
    router
        .add_tool(ToolRoute::new("f", "", || async {}))
        .unwrap();
    let second = Ask::new("tools/list", json!({"cursor": first["nextCursor"]}));
    let names = |page: &Value| -> Vec<String> {
        let tools = page["tools"].as_array().unwrap();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&second.of(&router).await.unwrap()), ["c", "b"]);
}

#[tokio::test]
async fn a_cursor_that_the_list_did_not_give_is_refused() {
    let router = demo().page_size(2);
    let tools = Ask::new("tools/list", json!({})).of(&router).await.unwrap();
    for cursor in [
        json!(""),
        json!("nonsense"),
        json!(7),
        json!(null),
        json!({}),
    ] {
        let ask = Ask::new("tools/list", json!({"cursor": cursor}));
        assert_eq!(
            ask.of(&router).await.unwrap_err()["code"],
            -32602,
            "{cursor}"
        );
    }
    let of_another = Ask::new("prompts/list", json!({"cursor": tools["nextCursor"]}));
    assert_eq!(of_another.of(&router).await.unwrap_err()["code"], -32602);
}

#[tokio::test]
async fn cacheable_results_have_a_lifetime_and_a_scope() {
    let router = demo().cache(Duration::from_secs(60), CacheScope::Public);
    for (method, params) in [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "test://a"})),
    ] {
        let result = Ask::new(method, params).of(&router).await.unwrap();
        assert_eq!(
            (&result["ttlMs"], &result["cacheScope"], &result["_meta"]),
            (&json!(60_000), &json!("public"), &demo_meta()),
            "{method}"
        );
    }
}
