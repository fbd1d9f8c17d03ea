//! Changed lists and watched resources.

use callgate_mcp::Error;
use callgate_mcp::client::{Subscription, SubscriptionEvent};
use callgate_mcp::router::ToolRoute;
use callgate_mcp::wire::subscription::SubscriptionFilter;
use serde_json::{Value, json};

use super::pair::{Pair, check};

async fn next(subscription: &mut Subscription) -> Result<SubscriptionEvent, Error> {
    subscription.next().await.expect("the server goes on")
}

pub(crate) async fn lists(pair: Pair) -> Result<Value, Error> {
    let filter = SubscriptionFilter::new()
        .with_tools()
        .with_prompts()
        .with_resources();
    let mut subscription = pair.client.listen(&filter).await?;
    let accepted = subscription.accepted().clone();
    // Old revisions do not acknowledge that they tell of changes; whoever has read a list hears
    // when it changes.
    pair.client.list_tools().await?;
    let router = &pair.server.router;
    let route = ToolRoute::new("new", "New", || async { "new" });
    router.add_tool(route).unwrap();
    let tools = next(&mut subscription).await?;
    router.remove_prompt("greet");
    let prompts = next(&mut subscription).await?;
    router.remove_resource("test://note");
    let resources = next(&mut subscription).await?;
    let told = [tools, prompts, resources].map(|event| format!("{event:?}"));
    let listed = pair.client.list_tools().await?;
    let is_listed = listed.iter().any(|tool| tool.name == "new");
    Ok(json!([accepted, told, is_listed]))
}

#[tokio::test]
async fn changed_lists_are_told() {
    let accepted = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
    });
    let told = [
        "ToolsListChanged",
        "PromptsListChanged",
        "ResourcesListChanged",
    ];
    check(lists, |_, _| json!([accepted, told, true])).await;
}

pub(crate) async fn resource(pair: Pair) -> Result<Value, Error> {
    let filter = SubscriptionFilter::new().with_resource("test://note");
    let mut subscription = pair.client.listen(&filter).await?;
    let accepted = subscription.accepted().clone();
    pair.server.router.resource_updated("test://other");
    pair.server.router.resource_updated("test://note");
    let told = next(&mut subscription).await?;
    Ok(json!([accepted, format!("{told:?}")]))
}

#[tokio::test]
async fn a_watched_resource_is_told_and_no_other() {
    let accepted = json!({"resourceSubscriptions": ["test://note"]});
    let told = r#"ResourceUpdated { uri: "test://note" }"#;
    check(resource, |_, _| json!([accepted, told])).await;
}
