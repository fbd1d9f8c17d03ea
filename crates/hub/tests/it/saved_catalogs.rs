use std::time::Duration;

use callgate_hub::reconnect::Start;
use callgate_hub::{Hub, ServerConfig};
use callgate_mcp::Client;
use callgate_mcp::router::ToolRoute;
use callgate_mcp::wire::prompt::Prompt;
use callgate_mcp::wire::resource::Resource;
use serde_json::json;
use tokio::time::Instant;

use crate::fake_server::{FakeServer, hub, router, server_name, wait_for};

fn tool(name: &str, description: &str) -> ToolRoute {
    ToolRoute::new(name, description, || async { "yes" })
}

fn server() -> FakeServer {
    let router = router("git").instructions("Use it well.");
    FakeServer::new(
        router
            .route(tool("log", "Shows"))
            .route(tool("add", "Adds")),
    )
}

fn config(server: &FakeServer, saved: Option<&[u8]>) -> ServerConfig {
    let mut config = server.config("git");
    config.catalog_key = Some("hash".into());
    config.saved_catalog = saved.map(<[u8]>::to_vec);
    config
}

async fn settled(hub: &Hub) {
    let deadline = Instant::now() + Duration::from_secs(60);
    assert!(hub.wait_settled(deadline).await);
}

async fn names(client: &Client) -> Vec<String> {
    let tools = client.list_tools().await.unwrap();
    tools.into_iter().map(|tool| tool.name).collect()
}

/// The catalog that a hub over this server wants to have saved.
async fn saved(server: &FakeServer) -> Vec<u8> {
    let (hub, _client) = hub(&[]);
    hub.add(config(server, None)).unwrap();
    settled(&hub).await;
    let unsaved = hub.take_unsaved_catalogs();
    let [catalog] = unsaved.as_slice() else {
        panic!("{unsaved:?}");
    };
    assert_eq!(catalog.server, server_name("git"));
    assert_eq!(&*catalog.key, "hash");
    assert!(hub.take_unsaved_catalogs().is_empty());
    catalog.catalog.as_bytes().to_vec()
}

#[tokio::test(start_paused = true)]
async fn a_start_shows_the_saved_tools_before_the_server_is_connected() {
    let server = server();
    let saved = saved(&server).await;
    server.hang();
    let (hub, client) = hub(&[]);
    hub.add(config(&server, Some(&saved))).unwrap();
    assert_eq!(names(&client).await, ["git_log", "git_add"]);
    let status = hub.status(&server_name("git")).unwrap();
    assert_eq!((status.state.as_str(), status.tools), ("connecting", 2));
    assert_eq!(status.info.unwrap().name, "git");
    assert_eq!(status.instructions.as_deref(), Some("Use it well."));
    server.crash();
    let result = client.call_tool("git_log", &json!({})).await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("yes"));
}

#[tokio::test(start_paused = true)]
async fn the_truth_replaces_a_saved_catalog_and_changed_tools_are_named() {
    let server = server();
    let saved = saved(&server).await;
    server.router.remove_tool("add");
    server.router.remove_tool("log");
    server.router.add_tool(tool("log", "Sends mail")).unwrap();
    server.router.add_tool(tool("new", "Is new")).unwrap();
    let (hub, client) = hub(&[]);
    hub.add(config(&server, Some(&saved))).unwrap();
    settled(&hub).await;
    assert_eq!(names(&client).await, ["git_log", "git_new"]);
    let status = hub.status(&server_name("git")).unwrap();
    let changed: Vec<_> = status.changed_tools.iter().map(|name| &**name).collect();
    assert_eq!(changed, ["log"]);
    assert_eq!(hub.take_unsaved_catalogs().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_equal_catalog_is_not_saved_again() {
    let server = server();
    let saved = saved(&server).await;
    let (hub, _client) = hub(&[]);
    hub.add(config(&server, Some(&saved))).unwrap();
    settled(&hub).await;
    assert!(hub.take_unsaved_catalogs().is_empty());
    let status = hub.status(&server_name("git")).unwrap();
    assert!(status.listed && status.changed_tools.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_saved_catalog_that_cannot_be_used_is_ignored() {
    let server = server();
    let saved = saved(&server).await;
    let damaged = saved.get(..saved.len() / 2).unwrap();
    for (key, bytes) in [
        ("other", saved.as_slice()),
        ("hash", damaged),
        ("hash", b""),
    ] {
        let (hub, client) = hub(&[]);
        let mut config = config(&server, Some(bytes));
        config.catalog_key = Some(key.into());
        hub.add(config).unwrap();
        assert_eq!(names(&client).await, Vec::<String>::new());
        settled(&hub).await;
        assert_eq!(names(&client).await, ["git_log", "git_add"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_starts_on_first_use_is_started_by_a_call_of_a_saved_tool() {
    let server = server();
    let saved = saved(&server).await;
    let connects = server.connects();
    let (hub, client) = hub(&[]);
    let mut config = config(&server, Some(&saved));
    config.start = Start::OnFirstUse;
    hub.add(config).unwrap();
    settled(&hub).await;
    assert_eq!(names(&client).await, ["git_log", "git_add"]);
    assert_eq!(server.connects(), connects);
    assert!(client.call_tool("git_log", &json!({})).await.is_ok());
    assert_eq!(server.connects(), connects + 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_starts_on_first_use_and_is_unknown_is_started_by_a_list() {
    let server = server();
    let (hub, client) = hub(&[]);
    let mut config = config(&server, None);
    config.start = Start::OnFirstUse;
    hub.add(config).unwrap();
    settled(&hub).await;
    assert_eq!(server.connects(), 0);
    assert_eq!(names(&client).await, Vec::<String>::new());
    wait_for(&hub, "git", "connected", 2).await;
    assert_eq!(names(&client).await, ["git_log", "git_add"]);
}

/// A server with a tool, a prompt and a resource.
fn full_server() -> FakeServer {
    let router = router("git").route(tool("log", "Shows"));
    let router = router.prompt(Prompt::new("draft", "Drafts"), || async { "Draft it" });
    FakeServer::new(router.resource(Resource::new("note://1", "one"), || async { "text" }))
}

/// Members of a catalog that have items or may have some.
fn lists(catalog: &[u8]) -> Vec<(String, usize)> {
    let catalog: serde_json::Value = serde_json::from_slice(catalog).unwrap();
    let members = catalog.as_object().unwrap().iter();
    let list = |(name, value): (&String, &serde_json::Value)| {
        Some((name.clone(), value.as_array()?.len()))
    };
    members.filter_map(list).collect()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_know_templates_has_none_and_is_saved() {
    let server = full_server();
    server.refuse("resources/templates/list", -32_601);
    let saved = saved(&server).await;
    assert_eq!(
        lists(&saved),
        [
            ("prompts/list".to_owned(), 1),
            ("resources/list".to_owned(), 1),
            ("resources/templates/list".to_owned(), 0),
            ("tools/list".to_owned(), 1),
        ]
    );
    // It is not asked again.
    assert_eq!(server.accept("resources/templates/list"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_hides_no_other_and_is_read_again_less_and_less_often() {
    let server = full_server();
    server.refuse("prompts/list", -32_603);
    let (hub, client) = hub(&[]);
    hub.add(config(&server, None)).unwrap();
    settled(&hub).await;
    assert_eq!(names(&client).await, ["git_log"]);
    assert_eq!(client.list_resources().await.unwrap().len(), 1);
    let unsaved = hub.take_unsaved_catalogs();
    let saved = unsaved.first().unwrap().catalog.as_bytes();
    assert_eq!(
        lists(saved),
        [
            ("resources/list".to_owned(), 1),
            ("resources/templates/list".to_owned(), 0),
            ("tools/list".to_owned(), 1),
        ]
    );
    // After 1, 2, 4, 8, 16 and 32 seconds.
    tokio::time::sleep(Duration::from_secs(64)).await;
    assert_eq!(server.accept("prompts/list"), 7);
    while client.list_prompts().await.unwrap().is_empty() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(hub.take_unsaved_catalogs().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_cannot_be_read_stays_as_it_was_saved() {
    let server = full_server();
    let saved = saved(&server).await;
    server.refuse("tools/list", -32_603);
    let (hub, client) = hub(&[]);
    hub.add(config(&server, Some(&saved))).unwrap();
    settled(&hub).await;
    assert_eq!(names(&client).await, ["git_log"]);
}

#[tokio::test(start_paused = true)]
async fn names_stay_when_the_servers_come_in_another_order_at_the_next_start() {
    let configs = |kept: &[Option<Vec<u8>>; 2]| {
        let server = |tool_name| FakeServer::new(router("s").route(tool(tool_name, "Says yes")));
        let servers = [("a", server("b_c")), ("a_b", server("c"))];
        let mut configs = Vec::new();
        for ((name, server), kept) in servers.into_iter().zip(kept) {
            let mut config = server.config(name);
            config.catalog_key = Some(name.into());
            config.saved_catalog.clone_from(kept);
            configs.push(config);
        }
        configs
    };
    let start = async |configs: Vec<ServerConfig>| {
        let (hub, client) = hub(&[]);
        for config in configs {
            hub.add(config).unwrap();
            settled(&hub).await;
        }
        let mut names = names(&client).await;
        names.sort();
        let a = hub.tool_names(&server_name("a"));
        (hub, names, a[0].exposed.clone())
    };
    let expect = ["a_b_c", "a_b_c_0c1d18"];
    let (hub, names, of_a) = start(configs(&[None, None])).await;
    assert_eq!(
        (names, &*of_a),
        (expect.map(str::to_owned).to_vec(), "a_b_c")
    );
    let mut kept = [None, None];
    for unsaved in hub.take_unsaved_catalogs() {
        let at = usize::from(unsaved.server.as_str() == "a_b");
        kept[at] = Some(unsaved.catalog.as_bytes().to_vec());
    }
    let mut reversed = configs(&kept);
    reversed.reverse();
    let (hub, names, of_a) = start(reversed).await;
    assert_eq!(
        (names, &*of_a),
        (expect.map(str::to_owned).to_vec(), "a_b_c")
    );
    assert!(hub.take_unsaved_catalogs().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_name_that_another_server_could_have_stays_as_it_was_when_that_server_is_removed() {
    let first = FakeServer::new(router("s").route(tool("b_c", "Says yes")));
    let config = |kept: Option<Vec<u8>>| {
        let mut config = first.config("a");
        config.catalog_key = Some("a".into());
        config.saved_catalog = kept;
        config
    };
    let second = FakeServer::new(router("s").route(tool("x", "Says yes")));
    let (hub, client) = hub(&[("a_b", &second)]);
    hub.add(config(None)).unwrap();
    settled(&hub).await;
    assert_eq!(names(&client).await, ["a_b_x", "a_b_c_662f0b"]);
    let unsaved = hub.take_unsaved_catalogs();
    let kept = unsaved
        .iter()
        .find(|unsaved| unsaved.server.as_str() == "a");
    let kept = kept.unwrap().catalog.as_bytes().to_vec();
    let (hub, client) = crate::fake_server::hub(&[]);
    hub.add(config(Some(kept))).unwrap();
    settled(&hub).await;
    assert_eq!(names(&client).await, ["a_b_c_662f0b"]);
}
