//! Skills as a client sees them: nothing is read ahead, and nothing is returned unverified.

use std::error::Error as _;
use std::sync::Arc;

use callgate_mcp::router::Router;
use callgate_mcp::skill::{SkillFiles, SkillMismatch};
use callgate_mcp::wire::implementation::Implementation;
use callgate_mcp::wire::skill::Skill;
use callgate_mcp::{Client, Error, Kind};
use serde_json::{Value, json};

use crate::client_scripted::{Scripted, Step, result};

const URI: &str = "skill://pdf/SKILL.md";
const SKILL_MD: &str = "---\nname: pdf\ndescription: Reads PDFs\n---\nbody";

fn files() -> SkillFiles {
    let files = [("SKILL.md", SKILL_MD), ("a b/c.md", "C")];
    SkillFiles::new("pdf", files).unwrap()
}

fn entry() -> Value {
    serde_json::to_value(files().entry()).unwrap()
}

fn skill(entry: Value) -> Skill {
    serde_json::from_value(entry).unwrap()
}

fn declared() -> Step {
    let extensions = json!({"io.modelcontextprotocol/skills": {}});
    result(json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"],
        "capabilities": {"resources": {}, "extensions": extensions}
    }))
}

fn text(uri: &str, text: &str) -> Step {
    result(json!({"contents": [{"uri": uri, "text": text}]}))
}

fn methods(server: &Scripted) -> Vec<String> {
    server
        .asked()
        .into_iter()
        .map(|(method, _)| method)
        .collect()
}

fn mismatch(error: &Error) -> SkillMismatch {
    assert_eq!(error.kind(), Kind::Protocol);
    let source = error.source().and_then(|source| source.downcast_ref());
    SkillMismatch::clone(source.expect("the source is the mismatch"))
}

#[tokio::test]
async fn a_skill_of_a_router_is_listed_opened_and_read() {
    let router = Router::new(Implementation::new("demo", "1.0")).skill(files());
    let client = Client::builder(Arc::new(router)).build();
    let listed = client.list_skills().await.unwrap();
    assert_eq!(listed, [skill(entry())]);
    assert_eq!(client.get_skill(URI).await.unwrap(), listed[0]);
    let open = client.open_skill(&listed[0]).await.unwrap();
    assert_eq!(open.skill_md(), SKILL_MD);
    assert_eq!(open.paths().collect::<Vec<_>>(), ["SKILL.md", "a b/c.md"]);
    assert_eq!(open.read("a b/c.md").await.unwrap(), b"C");
    let folder = client.read_directory("skill://pdf/a%20b").await.unwrap();
    assert_eq!(folder[0].uri, "skill://pdf/a%20b/c.md");
    let error = client
        .get_skill("skill://other/SKILL.md")
        .await
        .unwrap_err();
    assert_eq!(error.code(), -32602);
}

#[tokio::test]
async fn listing_reads_no_file_and_leaves_malformed_entries_out() {
    let mut malformed = entry();
    malformed["resources"] = Value::Null;
    let server = Scripted::new([declared(), result(json!({"skills": [malformed, entry()]}))]);
    let listed = server.client().list_skills().await.unwrap();
    assert_eq!(listed, [skill(entry())]);
    assert_eq!(methods(&server), ["server/discover", "skills/list"]);
}

#[tokio::test]
async fn a_server_is_asked_only_for_what_it_declares() {
    let none = json!({"supportedVersions": ["2026-07-28"], "capabilities": {}});
    let server = Scripted::new([result(none), declared()]);
    let client = server.client();
    let check = |outcome: Result<(), Error>, message: &str| {
        let error = outcome.unwrap_err();
        assert_eq!(
            (error.kind(), &*error.to_string()),
            (Kind::MethodNotFound, message)
        );
    };
    let listed = client.list_skills().await;
    check(listed.map(drop), "the server does not offer skills");
    let read = client.read_directory("skill://pdf").await;
    check(read.map(drop), "the server does not list folders");
    assert_eq!(methods(&server), ["server/discover", "server/discover"]);
}

#[tokio::test]
async fn a_skill_that_is_not_what_its_entry_says_is_not_opened() {
    type Expect = fn(&SkillMismatch) -> bool;
    let cases: [(String, Expect); 3] = [
        (
            SKILL_MD.replace("body", "evil"),
            |mismatch| matches!(mismatch, SkillMismatch::Digest { uri, .. } if uri == URI),
        ),
        (format!("{SKILL_MD}+"), |mismatch| {
            matches!(
                mismatch,
                SkillMismatch::Size {
                    expected: 46,
                    found: 47,
                    ..
                }
            )
        }),
        (String::new(), |mismatch| {
            matches!(mismatch, SkillMismatch::Size { found: 0, .. })
        }),
    ];
    for (skill_md, expect) in cases {
        let server = Scripted::new([text(URI, &skill_md)]);
        let error = server
            .client()
            .open_skill(&skill(entry()))
            .await
            .unwrap_err();
        assert!(expect(&mismatch(&error)), "{error}");
    }
}

#[tokio::test]
async fn a_frontmatter_that_differs_from_the_entry_is_a_mismatch_even_if_the_digest_fits() {
    for resources in [entry()["resources"].clone(), json!("dynamic")] {
        let mut entry = entry();
        entry["resources"] = resources;
        entry["frontmatter"]["description"] = json!("Something else");
        let server = Scripted::new([text(URI, SKILL_MD)]);
        let error = server.client().open_skill(&skill(entry)).await.unwrap_err();
        let field = "description".to_owned();
        assert_eq!(mismatch(&error), SkillMismatch::Frontmatter { field });
    }
}

#[tokio::test]
async fn an_invalid_entry_is_refused_before_anything_is_read() {
    let mut entry = entry();
    entry["resources"][1]["uri"] = json!("skill://other/c.md");
    let server = Scripted::new([]);
    let error = server.client().open_skill(&skill(entry)).await.unwrap_err();
    assert!(matches!(mismatch(&error), SkillMismatch::Entry { .. }));
}

#[tokio::test]
async fn files_are_verified_and_only_listed_ones_are_asked_for() {
    let server = Scripted::new([text(URI, SKILL_MD), text("skill://pdf/a%20b/c.md", "D")]);
    let open = server.client().open_skill(&skill(entry())).await.unwrap();
    let error = open.read("a b/c.md").await.unwrap_err();
    assert!(matches!(mismatch(&error), SkillMismatch::Digest { .. }));
    for path in ["other.md", "../pdf/SKILL.md", "", "a%20b/c.md"] {
        let error = open.read(path).await.unwrap_err();
        assert_eq!(mismatch(&error), SkillMismatch::Unlisted(path.to_owned()));
    }
    assert_eq!(methods(&server), ["resources/read", "resources/read"]);
}

#[tokio::test]
async fn a_generated_skill_cannot_lead_out_of_its_folder() {
    let mut entry = entry();
    entry["resources"] = json!("dynamic");
    let server = Scripted::new([text(URI, SKILL_MD), text("skill://pdf/x%20y", "any")]);
    let open = server.client().open_skill(&skill(entry)).await.unwrap();
    assert_eq!(open.read("x y").await.unwrap(), b"any");
    for path in ["../other", "a//b", ""] {
        let error = open.read(path).await.unwrap_err();
        assert_eq!(mismatch(&error), SkillMismatch::Unlisted(path.to_owned()));
    }
}
