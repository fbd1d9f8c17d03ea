use std::fs;

use serde_json::{Value, json};

use super::setup::wait_for;
use crate::fixture::{Home, Ran};

/// Text that is longer than the limit of the configuration below.
fn long_text() -> String {
    "x".repeat(3000)
}

fn home() -> Home {
    let home = Home::new();
    let text = long_text();
    let cases = format!(
        r#"*'"method":"tools/list"'*)
        result='{{"resultType":"complete","tools":[{{"name":"a","inputSchema":{{"type":"object","properties":{{"n":{{"type":"integer"}}}},"required":["n"]}}}}]}}' ;;
    *'"name":"a"'*) result='{{"resultType":"complete","content":[{{"type":"text","text":"{text}"}}]}}' ;;"#
    );
    let server = home.shell_definition(&cases);
    let directory = home.path().join(".config/callgate");
    fs::create_dir_all(&directory).unwrap();
    let config = json!({ "mcpServers": { "s": server }, "gateway": { "maxText": 1000 } });
    fs::write(directory.join("config.json"), config.to_string()).unwrap();
    home
}

#[test]
fn agents_read_long_texts_in_pages_and_call_prints_them_whole() {
    let home = home();
    let serving = home.serve(&["--no-auth"]);
    wait_for("the start", || home.connected().len() == 1);
    let result: Value = home.json(&["call", &serving.url, "s_a", "n=1"]);
    let kinds = |result: &Value| {
        let content = result["content"].as_array().unwrap().iter();
        let kinds = content.map(|block| block["type"].as_str().unwrap().to_owned());
        kinds.collect::<Vec<_>>()
    };
    assert_eq!(kinds(&result), ["text", "resource_link"]);
    let link = result["content"][1]["uri"].as_str().unwrap();
    let ran = home.run(&["read", &serving.url, link]);
    assert_eq!(ran, Ran::printed(&long_text()));
    // Through the same gateway.
    let whole = home.run(&["call", "s/a", "n=1"]);
    assert_eq!(whole, Ran::printed(&format!("{}\n", long_text())));
}

#[test]
fn a_large_file_is_in_an_answer_once() {
    let home = Home::new();
    // JSON writes each of these characters as six.
    let text = "\u{1}".repeat(200 << 10);
    fs::write(home.workspace().join("large.txt"), &text).unwrap();
    let serving = home.serve(&["--no-auth"]);
    let result: Value = home.json(&["call", &serving.url, "workspace_read", "path=large.txt"]);
    assert_eq!(result["structuredContent"]["content"], json!(text));
    assert_eq!(result["content"][1]["type"], "resource_link");
    let first = result["content"][0]["text"].as_str().unwrap();
    assert!(first.len() < text.len(), "{} bytes of text", first.len());
}

#[test]
fn arguments_are_checked_before_they_are_sent() {
    let home = home();
    let ran = home.run(&["call", "s/a", "m=1"]);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("", Some(5)));
    assert!(
        ran.stderr
            .starts_with("error: the arguments do not fit the tool `s/a`: "),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .contains("hint: run `callgate inspect s/a` to see its arguments"),
        "{}",
        ran.stderr
    );
}
