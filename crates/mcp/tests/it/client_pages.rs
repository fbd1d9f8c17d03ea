use callgate_mcp::Kind;
use callgate_mcp::client::ClientLimits;
use serde_json::{Value, json};

use crate::client_scripted::{Scripted, error, result};

fn tools(names: &[&str], next: Option<&str>) -> Value {
    let tool = |name: &&str| json!({"name": name, "inputSchema": {"type": "object"}});
    let mut page = json!({"tools": names.iter().map(tool).collect::<Vec<_>>()});
    if let Some(next) = next {
        page["nextCursor"] = json!(next);
    }
    page
}

fn asked(cursors: &[Option<&str>]) -> Vec<(String, Value)> {
    let params = |cursor: &Option<&str>| match cursor {
        Some(cursor) => json!({"cursor": cursor}),
        None => json!({}),
    };
    cursors
        .iter()
        .map(|cursor| ("tools/list".to_owned(), params(cursor)))
        .collect()
}

async fn check(server: &std::sync::Arc<Scripted>, expect: Result<&[&str], (Kind, &str)>) {
    let limits = ClientLimits::default().with_pages(3).with_list_bytes(1000);
    let client = server.builder().limits(limits).build();
    let listed = client.list_tools().await;
    let names: Result<Vec<String>, (Kind, String)> = listed
        .map(|tools| tools.into_iter().map(|tool| tool.name).collect())
        .map_err(|error| (error.kind(), error.to_string()));
    let expect = expect
        .map(|names| names.iter().map(|name| (*name).to_owned()).collect())
        .map_err(|(kind, message)| (kind, message.to_owned()));
    assert_eq!(names, expect);
    assert_eq!(server.left(), 0);
}

#[tokio::test]
async fn a_list_is_read_to_its_end_and_the_empty_cursor_is_one() {
    let server = Scripted::new([
        result(tools(&["a", "b"], Some(""))),
        result(tools(&[], Some("x"))),
        result(tools(&["c"], None)),
    ]);
    check(&server, Ok(&["a", "b", "c"])).await;
    assert_eq!(server.asked(), asked(&[None, Some(""), Some("x")]));
}

#[tokio::test]
async fn a_cursor_that_comes_twice_is_refused() {
    let server = Scripted::new([
        result(tools(&["a"], Some("x"))),
        result(tools(&["b"], Some("x"))),
    ]);
    let message = "`tools/list` does not end: the server sent cursor \"x\" twice";
    check(&server, Err((Kind::Protocol, message))).await;
}

#[tokio::test]
async fn a_list_with_too_many_pages_is_refused() {
    let server = Scripted::new(["x", "y", "z"].map(|next| result(tools(&["a"], Some(next)))));
    let message = "`tools/list` has more than 3 pages";
    check(&server, Err((Kind::TooLarge, message))).await;
}

#[tokio::test]
async fn a_client_without_limits_of_its_own_reads_a_thousand_pages() {
    let pages = |count: usize| (0..count).map(|page| Some(format!("{page}")));
    let list = async |cursors: Vec<Option<String>>| {
        let page = |next: &Option<String>| result(tools(&["a"], next.as_deref()));
        let server = Scripted::new(cursors.iter().map(page));
        let listed = server.client().list_tools().await;
        (
            listed.map_or_else(|error| error.to_string(), |tools| tools.len().to_string()),
            server.left(),
        )
    };
    let most = pages(999).chain([None]).collect();
    assert_eq!(list(most).await, ("1000".to_owned(), 0));
    let refusal = "`tools/list` has more than 1000 pages".to_owned();
    assert_eq!(list(pages(1001).collect()).await, (refusal, 1));
}

#[tokio::test]
async fn a_list_with_too_many_bytes_is_refused() {
    let long = "n".repeat(600);
    let server = Scripted::new([
        result(tools(&[&long], Some("x"))),
        result(tools(&[&long], None)),
    ]);
    let message = "`tools/list` has more than 1000 bytes";
    check(&server, Err((Kind::TooLarge, message))).await;
}

#[tokio::test]
async fn a_cursor_that_is_no_longer_known_starts_the_list_over_once() {
    let server = Scripted::new([
        result(tools(&["old"], Some("x"))),
        error(-32602, "unknown cursor"),
        result(tools(&["a"], Some("y"))),
        result(tools(&["b"], None)),
    ]);
    check(&server, Ok(&["a", "b"])).await;
    assert_eq!(server.asked(), asked(&[None, Some("x"), None, Some("y")]));

    let server = Scripted::new([
        result(tools(&["old"], Some("x"))),
        error(-32602, "unknown cursor"),
        result(tools(&["a"], Some("y"))),
        error(-32602, "unknown cursor"),
    ]);
    check(&server, Err((Kind::Rpc, "unknown cursor"))).await;
}

#[tokio::test]
async fn other_errors_end_the_list() {
    let server = Scripted::new([error(-32602, "bad")]);
    check(&server, Err((Kind::Rpc, "bad"))).await;
    let server = Scripted::new([result(tools(&["a"], Some("x"))), error(-32603, "broken")]);
    check(&server, Err((Kind::Rpc, "broken"))).await;
}

#[tokio::test]
async fn every_list_has_its_pages() {
    let page = |key: &str, item: Value| {
        let mut page = json!({"nextCursor": "x"});
        page[key] = json!([item]);
        let mut last = page.clone();
        last.as_object_mut().unwrap().remove("nextCursor");
        [result(page.clone()), result(last), result(page)]
    };
    let server = Scripted::new(
        [
            page("prompts", json!({"name": "p"})),
            page("resources", json!({"uri": "a:b", "name": "r"})),
            page(
                "resourceTemplates",
                json!({"uriTemplate": "a:{b}", "name": "t"}),
            ),
        ]
        .into_iter()
        .flatten(),
    );
    let client = server.client();
    let prompts = client.list_prompts().await.unwrap();
    let page = client.list_prompts_page(Some("c")).await.unwrap();
    assert_eq!((prompts.len(), page.next_cursor.as_deref()), (2, Some("x")));
    let resources = client.list_resources().await.unwrap();
    let page = client.list_resources_page(Some("c")).await.unwrap();
    assert_eq!(
        (resources.len(), page.next_cursor.as_deref()),
        (2, Some("x"))
    );
    let templates = client.list_resource_templates().await.unwrap();
    let page = client
        .list_resource_templates_page(Some("c"))
        .await
        .unwrap();
    assert_eq!(
        (templates.len(), page.next_cursor.as_deref()),
        (2, Some("x"))
    );
    let expect: Vec<(String, Value)> =
        ["prompts/list", "resources/list", "resources/templates/list"]
            .iter()
            .flat_map(|method| {
                [json!({}), json!({"cursor": "x"}), json!({"cursor": "c"})]
                    .map(|params| ((*method).to_owned(), params))
            })
            .collect();
    assert_eq!(server.asked(), expect);
}

#[tokio::test]
async fn a_raw_list_is_read_to_its_end_too() {
    let server = Scripted::new([
        result(tools(&["a"], Some("x"))),
        result(tools(&["b"], None)),
        result(json!({"tools": {}})),
    ]);
    let client = server.builder().build();
    let listed = client.list_raw("tools/list").await.unwrap();
    let names: Vec<_> = listed.iter().filter_map(|tool| tool.get("name")).collect();
    assert_eq!(format!("{names:?}"), r#"["a", "b"]"#);
    assert_eq!(server.asked(), asked(&[None, Some("x")]));

    let malformed = client.list_raw("tools/list").await.unwrap_err();
    assert_eq!(
        (malformed.kind(), malformed.to_string().as_str()),
        (
            Kind::Protocol,
            "malformed result of `tools/list`: `tools` is not an array"
        )
    );
    let not_a_list = client.list_raw("tools/call").await.unwrap_err();
    assert_eq!(not_a_list.kind(), Kind::InvalidParams);
}
