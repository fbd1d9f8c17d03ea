use std::sync::Arc;
use std::time::Duration;

use callgate_hub::{Hub, HubConfig, HubError};
use callgate_mcp::wire::subscription::SubscriptionFilter;
use callgate_mcp::{Client, Implementation, Kind};

use crate::fake_server::{FakeServer, router, server_name};

fn config() -> HubConfig {
    HubConfig::new(Implementation::new("hub", "1.0"))
}

#[tokio::test(start_paused = true)]
async fn a_hub_takes_each_name_once_and_a_limited_number_of_servers() {
    let mut config = config();
    config.max_servers = 2;
    let hub = Hub::new(config);
    let server = FakeServer::new(router("s"));
    let add = |name: &str| hub.add(server.config(name));
    assert_eq!(add("a"), Ok(()));
    assert_eq!(add("a"), Err(HubError::Duplicate(server_name("a"))));
    assert_eq!(add("A"), Ok(()));
    assert_eq!(add("b"), Err(HubError::TooMany(2)));
    assert!(hub.remove(&server_name("a")).await);
    assert_eq!(add("b"), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_hub_takes_a_limited_number_of_subscriptions() {
    let mut config = config();
    config.max_subscriptions = 1;
    let client = Client::builder(Arc::new(Hub::new(config))).build();
    let filter = SubscriptionFilter::default().with_tools();
    let first = client.listen(&filter).await.unwrap();
    let error = client.listen(&filter).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Busy);
    assert_eq!(
        (error.to_string().as_str(), error.retry_after()),
        (
            "subscription limit reached: close one, or try again later",
            Some(Duration::from_secs(5))
        )
    );
    drop(first);
    while client.listen(&filter).await.is_err() {
        tokio::task::yield_now().await;
    }
}
