use std::collections::HashMap;

use callgate_mcp::Error;
use callgate_mcp::router::{RequestCx, RouteError, Router, UriTemplateError};
use callgate_mcp::wire::cache::CacheScope;
use callgate_mcp::wire::implementation::Implementation;
use callgate_mcp::wire::resource::{
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::ask::{Ask, demo_meta};

#[derive(Deserialize)]
struct Data {
    id: String,
}

fn demo() -> Router {
    let typed = |uri: &str, mime_type: &str| Resource::new(uri, "name").with_mime_type(mime_type);
    Router::new(Implementation::new("demo", "1.0"))
        .resource(typed("test://text", "text/plain"), || async { "hello" })
        .resource(typed("test://bytes", "image/png"), || async {
            b"png".to_vec()
        })
        .resource(
            Resource::new("test://parts", "parts"),
            |_: RequestCx| async {
                vec![
                    ResourceContents::text("test://parts/1", "one"),
                    ResourceContents::text("test://parts/2", "two"),
                ]
            },
        )
        .resource(Resource::new("test://gone", "gone"), || async {
            None::<String>
        })
        .resource(Resource::new("test://own", "own"), || async {
            ReadResourceResult::new(vec![]).with_cache(5, CacheScope::Private)
        })
        .resource(Resource::new("test://broken", "broken"), || async {
            Err::<String, _>(Error::internal("no disk"))
        })
        .resource_template(
            ResourceTemplate::new("test://template/{id}/data", "template")
                .with_mime_type("application/json"),
            |data: Data| async move { (data.id != "0").then(|| format!("{{\"id\":{}}}", data.id)) },
        )
        .resource_template(
            ResourceTemplate::new("file:///{+path}", "files"),
            |variables: HashMap<String, String>| async move { variables["path"].clone() },
        )
}

fn read(uri: &str) -> Ask {
    Ask::new("resources/read", json!({"uri": uri}))
}

fn contents(contents: &Value) -> Result<Value, Value> {
    Ok(json!({
        "resultType": "complete",
        "contents": contents,
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": demo_meta()
    }))
}

#[tokio::test]
async fn a_resource_is_read() {
    for (uri, expect) in [
        (
            "test://text",
            json!([{"uri": "test://text", "mimeType": "text/plain", "text": "hello"}]),
        ),
        (
            "test://bytes",
            json!([{"uri": "test://bytes", "mimeType": "image/png", "blob": "cG5n"}]),
        ),
        (
            "test://parts",
            json!([{"uri": "test://parts/1", "text": "one"}, {"uri": "test://parts/2", "text": "two"}]),
        ),
        (
            "test://template/7/data",
            json!([{"uri": "test://template/7/data", "mimeType": "application/json", "text": "{\"id\":7}"}]),
        ),
        (
            "file:///a%20b/c",
            json!([{"uri": "file:///a%20b/c", "text": "a b/c"}]),
        ),
    ] {
        assert_eq!(read(uri).of(&demo()).await, contents(&expect), "{uri}");
    }
    assert_eq!(read("test://own").of(&demo()).await.unwrap()["ttlMs"], 5);
}

#[tokio::test]
async fn a_resource_that_does_not_exist_is_an_error_with_its_uri() {
    for uri in [
        "test://nothing",
        "test://gone",
        "test://template/0/data",
        "test://template/a/b/data",
        "",
    ] {
        assert_eq!(
            read(uri).of(&demo()).await,
            Err(json!({"code": -32602, "message": "resource not found", "data": {"uri": uri}}))
        );
    }
    assert_eq!(
        Ask::new("resources/read", json!({})).of(&demo()).await,
        Err(json!({"code": -32602, "message": "`uri` must be a string"}))
    );
    assert_eq!(
        read("test://broken").of(&demo()).await,
        Err(json!({"code": -32603, "message": "no disk"}))
    );
}

#[tokio::test]
async fn resources_come_and_go() {
    let router = demo();
    assert!(router.remove_resource("test://text"));
    assert!(router.remove_resource_template("file:///{+path}"));
    for uri in ["test://text", "file:///a"] {
        assert_eq!(read(uri).of(&router).await.unwrap_err()["code"], -32602);
    }
    router.add_resource(Resource::new("test://text", "again"), || async { "again" });
    assert_eq!(
        read("test://text").of(&router).await.unwrap()["contents"],
        json!([{"uri": "test://text", "text": "again"}])
    );
}

#[test]
fn a_template_that_cannot_be_matched_is_refused() {
    let added = demo().add_resource_template(ResourceTemplate::new("a:{?q}", "q"), || async { "" });
    assert_eq!(
        added,
        Err(RouteError::Template {
            uri_template: "a:{?q}".to_owned(),
            source: UriTemplateError::Unsupported {
                expression: "?q".to_owned()
            }
        })
    );
}
