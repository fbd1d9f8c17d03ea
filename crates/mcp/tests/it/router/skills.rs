use callgate_mcp::router::Router;
use callgate_mcp::skill::SkillFiles;
use callgate_mcp::wire::implementation::Implementation;
use serde_json::{Value, json};

use super::ask::{Ask, demo_meta};

const SKILL_MD: &str = "---\nname: pdf\ndescription: Reads PDFs\nlicense: MIT\n---\nSee templates.";

/// A skill with a file in a folder and another two folders down.
fn pdf() -> SkillFiles {
    let files = [
        ("SKILL.md", SKILL_MD),
        ("templates/a.md", "A"),
        ("templates/eu/b.txt", "B"),
    ];
    SkillFiles::new("acme/pdf", files).unwrap()
}

fn skill(path: &str, name: &str) -> SkillFiles {
    let skill_md = format!("---\nname: {name}\ndescription: d\n---\n");
    SkillFiles::new(path, [("SKILL.md", skill_md)]).unwrap()
}

fn demo() -> Router {
    Router::new(Implementation::new("demo", "1.0"))
}

fn entry() -> Value {
    let file = |path: &str, size: u64, digest: &str| json!({"uri": format!("skill://acme/pdf/{path}"), "digest": format!("sha256:{digest}"), "size": size});
    json!({
        "uri": "skill://acme/pdf/SKILL.md",
        "frontmatter": {"name": "pdf", "description": "Reads PDFs", "license": "MIT"},
        "resources": [
            file("SKILL.md", 69, "f206ecdc4603efa55786cc322e917e0987637d6817df49fb49110cc9ef880f3c"),
            file("templates/a.md", 1, "559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd"),
            file("templates/eu/b.txt", 1, "df7e70e5021544f4834bbee64a9e3789febc4be81470df629cad6ddb03320a5c"),
        ]
    })
}

async fn uris(router: &Router, method: &'static str, params: Value, member: &str) -> Vec<String> {
    let result = Ask::new(method, params).of(router).await.unwrap();
    let items = result[member].as_array().unwrap();
    let uri = |item: &Value| item["uri"].as_str().unwrap().to_owned();
    items.iter().map(uri).collect()
}

#[tokio::test]
async fn a_server_without_skills_does_not_declare_them() {
    let router = demo();
    let discover = || Ask::new("server/discover", json!({}));
    let extensions = |result: Value| result["capabilities"]["extensions"].clone();
    assert_eq!(
        extensions(discover().of(&router).await.unwrap()),
        Value::Null
    );
    for method in ["skills/list", "skills/get", "resources/directory/read"] {
        let error = Ask::new(method, json!({})).of(&router).await.unwrap_err();
        assert_eq!(error["code"], -32601);
    }
    router.add_skill(pdf());
    let declared = discover().of(&router).await.unwrap();
    assert_eq!(
        declared["capabilities"],
        json!({
            "logging": {},
            "resources": {"subscribe": true, "listChanged": true},
            "extensions": {"io.modelcontextprotocol/skills": {"directoryRead": true}}
        })
    );
}

#[tokio::test]
async fn skills_are_listed_and_found_by_uri() {
    let router = demo().skill(pdf());
    let uri = json!({"uri": "skill://acme/pdf/SKILL.md"});
    assert_eq!(
        Ask::new("skills/list", json!({})).of(&router).await,
        Ok(json!({
            "resultType": "complete", "skills": [entry()],
            "ttlMs": 0, "cacheScope": "private", "_meta": demo_meta()
        }))
    );
    assert_eq!(
        Ask::new("skills/get", uri).of(&router).await,
        Ok(json!({
            "resultType": "complete", "skill": entry(),
            "ttlMs": 0, "cacheScope": "private", "_meta": demo_meta()
        }))
    );
    let other = json!({"uri": "skill://acme/pdf/templates/a.md"});
    assert_eq!(
        Ask::new("skills/get", other.clone()).of(&router).await,
        Err(json!({"code": -32602, "message": "no skill has this URI", "data": other}))
    );
}

#[tokio::test]
async fn the_files_of_a_skill_are_resources() {
    let router = demo().skill(pdf());
    let listed = Ask::new("resources/list", json!({})).of(&router).await;
    assert_eq!(
        listed.unwrap()["resources"],
        json!([
            {"uri": "skill://acme/pdf/SKILL.md", "name": "pdf", "description": "Reads PDFs", "mimeType": "text/markdown", "size": 69},
            {"uri": "skill://acme/pdf/templates/a.md", "name": "a.md", "mimeType": "text/markdown", "size": 1},
            {"uri": "skill://acme/pdf/templates/eu/b.txt", "name": "b.txt", "mimeType": "text/plain", "size": 1},
        ])
    );
    let uri = "skill://acme/pdf/SKILL.md";
    let read = Ask::new("resources/read", json!({"uri": uri}))
        .of(&router)
        .await;
    assert_eq!(
        read.unwrap()["contents"],
        json!([{"uri": uri, "mimeType": "text/markdown", "text": SKILL_MD}])
    );
}

#[tokio::test]
async fn a_folder_lists_its_files_and_folders() {
    let router = demo().skill(pdf()).skill(skill("acme/doc", "doc"));
    let read = async |uri: &str| {
        let asked = Ask::new("resources/directory/read", json!({"uri": uri}));
        let result = asked.of(&router).await?;
        assert_eq!(result["_meta"], demo_meta());
        Ok::<_, Value>(result["resources"].clone())
    };
    assert_eq!(
        read("skill://acme/pdf/templates").await,
        Ok(json!([
            {"uri": "skill://acme/pdf/templates/a.md", "name": "a.md", "mimeType": "text/markdown", "size": 1},
            {"uri": "skill://acme/pdf/templates/eu", "name": "eu", "mimeType": "inode/directory"},
        ]))
    );
    assert_eq!(
        read("skill://acme").await,
        Ok(json!([
            {"uri": "skill://acme/doc", "name": "doc", "mimeType": "inode/directory"},
            {"uri": "skill://acme/pdf", "name": "pdf", "mimeType": "inode/directory"},
        ]))
    );
    for uri in [
        "skill://acme/pdf/SKILL.md",
        "skill://acme/pdf/templates/",
        "skill://acme/pd",
        "skill://",
        "skill:/",
        "",
    ] {
        assert_eq!(
            read(uri).await,
            Err(json!({"code": -32602, "message": "no folder has this URI", "data": {"uri": uri}})),
        );
    }
}

#[tokio::test]
async fn folders_and_skills_come_in_pages() {
    let router = demo()
        .page_size(1)
        .skill(pdf())
        .skill(skill("acme/doc", "doc"));
    for (method, params, member) in [
        ("skills/list", json!({}), "skills"),
        (
            "resources/directory/read",
            json!({"uri": "skill://acme"}),
            "resources",
        ),
    ] {
        let first = Ask::new(method, params.clone()).of(&router).await.unwrap();
        let mut params = params;
        params["cursor"] = first["nextCursor"].clone();
        let second = Ask::new(method, params.clone()).of(&router).await.unwrap();
        assert_eq!(second[member].as_array().unwrap().len(), 1, "{method}");
        assert_ne!(first[member], second[member], "{method}");
        assert_eq!(second.get("nextCursor"), None, "{method}");
        let error = Ask::new("resources/list", params)
            .of(&router)
            .await
            .unwrap_err();
        assert_eq!(error["message"], "`cursor` was not issued by this list");
    }
}

#[tokio::test]
async fn a_skill_is_replaced_and_removed_with_its_files() {
    let router = demo()
        .skill(pdf())
        .skill(skill("acme/pdf/templates/eu", "eu"));
    // Only the files that the new version does not have are gone.
    router.add_skill(skill("acme/pdf", "pdf"));
    let resources = async || uris(&router, "resources/list", json!({}), "resources").await;
    let skills = async || uris(&router, "skills/list", json!({}), "skills").await;
    let nested = "skill://acme/pdf/templates/eu/SKILL.md";
    assert_eq!(resources().await, ["skill://acme/pdf/SKILL.md", nested]);
    assert_eq!(skills().await, ["skill://acme/pdf/SKILL.md", nested]);
    assert!(router.remove_skill("skill://acme/pdf/SKILL.md"));
    assert!(!router.remove_skill("skill://acme/pdf/SKILL.md"));
    assert_eq!(resources().await, [nested]);
    assert_eq!(skills().await, [nested]);
}
