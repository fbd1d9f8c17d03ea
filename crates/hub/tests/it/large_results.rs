use std::sync::Arc;

use callgate_mcp::layer::{LargeResultLimits, LargeResults};
use callgate_mcp::router::ToolRoute;
use callgate_mcp::wire::resource::ResourceContents;
use callgate_mcp::{Client, Content};
use serde_json::json;

use crate::fake_server::{FakeServer, hub, router, wait_for};

#[tokio::test(start_paused = true)]
async fn a_long_result_of_a_server_is_read_in_pages_through_the_hub() {
    let text = "a line of text\n".repeat(150_000);
    let handler = {
        let text = text.clone();
        move || {
            let text = text.clone();
            async move { text }
        }
    };
    let server = FakeServer::new(router("s").route(ToolRoute::new("dump", "Dumps", handler)));
    let (hub, _) = hub(&[("s", &server)]);
    wait_for(&hub, "s", "connected", 1).await;
    let limited = LargeResults::new(hub.clone(), LargeResultLimits::default());
    let client = Client::builder(Arc::new(limited)).build();
    let result = client.call_tool("s_dump", &json!({})).await.unwrap();
    let [Content::Text(preview), Content::ResourceLink(link)] = result.content.as_slice() else {
        panic!("{} blocks", result.content.len());
    };
    assert!(preview.text.len() < 3_000, "{}", preview.text.len());
    assert_eq!(link.size, u64::try_from(text.len()).ok());
    let mut found = String::new();
    for page in 1..=9 {
        let uri = format!("{}?page={page}", link.uri);
        let read = client.read_resource(&uri).await.unwrap();
        let [ResourceContents::Text(contents)] = read.contents.as_slice() else {
            panic!("{page}");
        };
        found += &contents.text;
    }
    assert!(found == text, "{} bytes", found.len());
    let end = client.read_resource(&format!("{}?page=10", link.uri)).await;
    assert!(end.is_err());
}
