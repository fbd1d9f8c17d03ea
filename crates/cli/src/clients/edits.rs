//! `connect` and `disconnect` on the texts of files: what one adds, the other removes, and nothing else changes.

use proptest::prelude::*;

use super::connection::{
    ConnectPlan, DisconnectPlan, EntryChange, Record, Remembered, plan_connect, plan_disconnect,
};
use super::document::{Format, Node};
use super::entry::own::{Endpoint, NAME, entry};
use super::table::{Client, ClientFile, all, find};
use crate::config::digest::sha256;

fn ours(client: &Client) -> Node {
    let endpoint = Endpoint::Command {
        program: NAME.to_owned(),
        args: vec!["serve".to_owned(), "--stdio".to_owned()],
    };
    entry(client, &endpoint).unwrap()
}

fn file(client: &Client) -> ClientFile {
    ClientFile {
        path: "FILE".into(),
        servers: client.servers.clone(),
    }
}

/// The text after `connect`, and the record of it.
fn connected(client: &Client, before: Option<&str>) -> (String, Remembered) {
    let file = file(client);
    let plan = plan_connect(
        client,
        &file,
        before.map(str::as_bytes),
        None,
        &ours(client),
    )
    .unwrap();
    let ConnectPlan::Write { after, backup, .. } = plan else {
        panic!("{plan:?}");
    };
    let backup = backup.unwrap();
    let record = Record {
        file: file.path,
        servers: file.servers,
        existed: backup.is_some(),
        directories: Vec::new(),
        after: sha256(after.as_bytes()).to_string(),
    };
    (after, (record, Some(backup.unwrap_or_default())))
}

fn sample(client: &Client) -> &'static str {
    match client.id.as_str() {
        "claude-desktop" => include_str!("samples/claude-desktop.json"),
        "cursor" => include_str!("samples/cursor.json"),
        "vscode" => include_str!("samples/vscode.jsonc"),
        "codex" => include_str!("samples/codex.toml"),
        "gemini" => include_str!("samples/gemini.json"),
        "opencode" => include_str!("samples/opencode.jsonc"),
        "opencode-v2" => include_str!("samples/opencode-v2.jsonc"),
        "windsurf" => include_str!("samples/windsurf.json"),
        "zed" => include_str!("samples/zed.jsonc"),
        "cline" => include_str!("samples/cline.json"),
        "goose" => include_str!("samples/goose.yaml"),
        "amp" => include_str!("samples/amp.json"),
        "junie" => include_str!("samples/junie.json"),
        "zencoder" => include_str!("samples/zencoder.jsonc"),
        _ => "{\n  \"mcpServers\": {}\n}\n",
    }
}

/// Forms in which a text can be on a disk.
fn forms(client: &Client, text: &str) -> Vec<String> {
    let comment = match client.format {
        Format::Json | Format::Jsonc => "// the end, without a line break",
        Format::Toml | Format::Yaml => "# the end, without a line break",
    };
    let mut forms = vec![
        text.to_owned(),
        text.replace('\n', "\r\n"),
        format!("\u{feff}{text}"),
        text.trim_end().to_owned(),
        format!("{text}{comment}"),
        String::new(),
        "\n".to_owned(),
    ];
    if matches!(client.format, Format::Json | Format::Jsonc) {
        forms.push(text.replace("  ", "\t"));
        forms.push("{}".to_owned());
        forms.push("{ /* empty */ }\n".to_owned());
    }
    forms
}

#[test]
fn every_form_of_every_file_is_restored_byte_for_byte() {
    for client in all() {
        for before in forms(client, sample(client)) {
            let (after, remembered) = connected(client, Some(&before));
            let found = client.format.parse(&after).unwrap();
            let found = found.at(&client.servers).unwrap().get(NAME).unwrap();
            assert_eq!(found.to_json(), ours(client).to_json());
            assert_eq!(after.contains("\r\n"), before.contains("\r\n"), "{after}");
            assert_eq!(
                after.starts_with('\u{feff}'),
                before.starts_with('\u{feff}')
            );
            let plan = plan_disconnect(
                client,
                &file(client),
                Some(after.as_bytes()),
                Some(&remembered),
            );
            let expect = DisconnectPlan::Restore {
                before: after.into_bytes(),
                after: before.clone().into_bytes(),
            };
            assert_eq!(plan.unwrap(), expect, "{} {before}", client.id);
        }
    }
}

#[test]
fn a_file_that_was_not_there_is_removed() {
    for client in all() {
        let (after, remembered) = connected(client, None);
        let plan = plan_disconnect(
            client,
            &file(client),
            Some(after.as_bytes()),
            Some(&remembered),
        );
        let before = after.into_bytes();
        assert_eq!(plan.unwrap(), DisconnectPlan::Remove { before });
    }
}

#[test]
fn after_a_change_of_the_user_only_our_entry_is_removed() {
    for client in all() {
        let comment = match client.format {
            Format::Json | Format::Jsonc => "\n// of the user\n",
            Format::Toml | Format::Yaml => "\n# of the user\n",
        };
        for before in forms(client, sample(client)) {
            let (after, remembered) = connected(client, Some(&before));
            let changed = format!("{after}{comment}");
            let plan = plan_disconnect(
                client,
                &file(client),
                Some(changed.as_bytes()),
                Some(&remembered),
            );
            let DisconnectPlan::Entry { after, change, .. } = plan.unwrap() else {
                panic!("{} {before}", client.id);
            };
            assert_eq!(change, EntryChange::Removed);
            let value = |text: &str| client.format.parse(text).unwrap().to_json();
            assert_eq!(value(&after), value(&before), "{} {after}", client.id);
            assert!(after.contains("of the user"), "{after}");
        }
    }
}

#[test]
fn both_can_be_repeated() {
    for client in all() {
        let (after, remembered) = connected(client, Some(sample(client)));
        let again = plan_connect(
            client,
            &file(client),
            Some(after.as_bytes()),
            Some(&remembered),
            &ours(client),
        );
        assert_eq!(again.unwrap(), ConnectPlan::Connected);
        for current in [None, Some(sample(client).as_bytes())] {
            let plan = plan_disconnect(client, &file(client), current, Some(&remembered));
            assert_eq!(plan.unwrap(), DisconnectPlan::Absent);
        }
    }
}

#[test]
fn another_connection_keeps_the_first_backup() {
    let client = find("cursor").unwrap();
    let before = sample(client);
    let (after, remembered) = connected(client, Some(before));
    let endpoint = Endpoint::Url {
        url: "http://127.0.0.1:3000/mcp".to_owned(),
        token: "secret".to_owned(),
    };
    let http = entry(client, &endpoint).unwrap();
    let plan = plan_connect(
        client,
        &file(client),
        Some(after.as_bytes()),
        Some(&remembered),
        &http,
    )
    .unwrap();
    let ConnectPlan::Write { after, backup, .. } = plan else {
        panic!("{plan:?}");
    };
    assert_eq!(backup, None);
    assert!(
        after.contains("Bearer ${env:CALLGATE_TOKEN}") && !after.contains("secret"),
        "{after}"
    );
    // After a change of the user, the text to restore is the one without our entry.
    let plan = plan_connect(
        client,
        &file(client),
        Some(after.as_bytes()),
        Some(&remembered),
        &ours(client),
    )
    .unwrap();
    let ConnectPlan::Write { backup, .. } = plan else {
        panic!("{plan:?}");
    };
    let backup = String::from_utf8(backup.unwrap().unwrap()).unwrap();
    let value = |text: &str| client.format.parse(text).unwrap().to_json();
    assert_eq!(value(&backup), value(before));
}

#[test]
fn an_entry_of_the_user_that_starts_this_program_comes_back() {
    for client in all() {
        let theirs = Endpoint::Command {
            program: "/opt/callgate".to_owned(),
            args: vec!["serve".to_owned(), "--workspace".to_owned()],
        };
        let theirs = entry(client, &theirs).unwrap();
        let text = sample(client);
        let before = client.format.insert(text, &client.servers, NAME, &theirs);
        let before = before.unwrap();
        let (after, remembered) = connected(client, Some(&before));
        let plan = plan_disconnect(
            client,
            &file(client),
            Some(after.as_bytes()),
            Some(&remembered),
        );
        let expect = DisconnectPlan::Restore {
            before: after.clone().into_bytes(),
            after: before.clone().into_bytes(),
        };
        assert_eq!(plan.unwrap(), expect, "{}", client.id);
        // The file was changed since, by a program that also connects again.
        let changed = format!("{after}\n");
        let value = |text: &str| client.format.parse(text).unwrap().to_json();
        let plan = plan_disconnect(
            client,
            &file(client),
            Some(changed.as_bytes()),
            Some(&remembered),
        );
        let DisconnectPlan::Entry { after, change, .. } = plan.unwrap() else {
            panic!("{}", client.id);
        };
        assert_eq!(change, EntryChange::Replaced);
        assert_eq!(value(&after), value(&before), "{}", client.id);
        let other = Endpoint::Command {
            program: NAME.to_owned(),
            args: Vec::new(),
        };
        let plan = plan_connect(
            client,
            &file(client),
            Some(changed.as_bytes()),
            Some(&remembered),
            &entry(client, &other).unwrap(),
        );
        let ConnectPlan::Write { backup, .. } = plan.unwrap() else {
            panic!("{}", client.id);
        };
        let backup = String::from_utf8(backup.unwrap().unwrap()).unwrap();
        assert_eq!(value(&backup), value(&before), "{}", client.id);
    }
}

#[test]
fn without_its_backup_a_file_keeps_all_but_our_entry() {
    for client in all() {
        for before in forms(client, sample(client)) {
            let (after, (record, _)) = connected(client, Some(&before));
            let remembered = (record, None);
            let plan = plan_disconnect(
                client,
                &file(client),
                Some(after.as_bytes()),
                Some(&remembered),
            );
            let DisconnectPlan::Entry { after, change, .. } = plan.unwrap() else {
                panic!("{} {before}", client.id);
            };
            assert_eq!(change, EntryChange::RemovedWithoutBackup);
            let root = client.format.parse(&after).unwrap();
            let found = root.at(&client.servers).and_then(|it| it.get(NAME));
            assert_eq!(found, None, "{} {after}", client.id);
        }
    }
}

#[test]
fn a_server_of_the_user_with_our_name_is_left_alone() {
    let client = find("cursor").unwrap();
    let text = "{\n  \"mcpServers\": {\n    \"callgate\": { \"command\": \"other\" }\n  }\n}\n";
    let plan = plan_connect(
        client,
        &file(client),
        Some(text.as_bytes()),
        None,
        &ours(client),
    );
    assert_eq!(
        plan.unwrap_err().with_hints(),
        "FILE:3: there is a server `callgate` that is not this program\n\
         hint: remove or rename it in Cursor, then run the same command again"
    );
    let plan = plan_disconnect(client, &file(client), Some(text.as_bytes()), None);
    assert_eq!(plan.unwrap(), DisconnectPlan::Absent);
}

#[test]
fn a_text_that_cannot_be_edited_safely_is_refused_with_lines_to_paste() {
    for (id, text, expect) in [
        (
            "goose",
            "extensions: {a: {type: stdio}}\n",
            "extensions:\n  callgate:\n    type: \"stdio\"",
        ),
        ("goose", "extensions: [1]\n", "extensions:\n  callgate:"),
        (
            "codex",
            "mcp_servers = { a = { command = \"x\" } }\n",
            "[mcp_servers.callgate]\ncommand = \"callgate\"",
        ),
        ("cursor", "[]", "\"mcpServers\": {\n    \"callgate\": {"),
        (
            "cursor",
            "{\"mcpServers\": 1}",
            "\"mcpServers\": {\n    \"callgate\": {",
        ),
    ] {
        let client = find(id).unwrap();
        let plan = plan_connect(
            client,
            &file(client),
            Some(text.as_bytes()),
            None,
            &ours(client),
        );
        let error = plan.unwrap_err().with_hints();
        assert!(error.starts_with("cannot edit FILE"), "{error}");
        assert!(error.contains(expect), "{error}");
    }
}

/// JSON with comments: texts and objects, with random space, line ends, comments and commas at the end.
fn jsonc() -> impl Strategy<Value = String> {
    let space = prop_oneof![
        Just(String::new()),
        Just(" ".to_owned()),
        Just("\n  ".to_owned()),
        Just("\r\n\t".to_owned()),
        Just(" // note {\n".to_owned()),
        Just("/* \"a\": 1, */".to_owned()),
    ];
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("\"{//\"".to_owned()),
        Just("null".to_owned()),
        Just("[1, 2]".to_owned())
    ];
    let object = leaf.prop_recursive(4, 24, 4, move |inner| {
        let member = (space.clone(), "[a-d]", space.clone(), inner, space.clone());
        (
            proptest::collection::vec(member, 0..4),
            any::<bool>(),
            space.clone(),
        )
            .prop_map(|(members, comma, end)| {
                let mut names = Vec::new();
                let mut parts = Vec::new();
                for (before, name, between, value, after) in members {
                    if !names.contains(&name) {
                        parts.push(format!("{before}\"{name}\":{between}{value}{after}"));
                        names.push(name);
                    }
                }
                let comma = if comma && !parts.is_empty() { "," } else { "" };
                format!("{{{}{comma}{end}}}", parts.join(","))
            })
    });
    (object, any::<bool>()).prop_map(|(value, named)| match named {
        true => format!(
            "{{\"mcpServers\": {}}}",
            if value.starts_with('{') {
                value
            } else {
                "{}".to_owned()
            }
        ),
        false => format!("{{\"x\": {value}}}"),
    })
}

/// TOML with tables, comments and other line ends.
fn toml() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("# note = 1".to_owned()),
        Just(String::new()),
        "[a-c]{1,8}_[0-9]{1,6}".prop_map(|name| format!("{name} = \"#\" # end")),
        "[a-z]{4,9}[0-9]{4}".prop_map(|name| format!("[mcp_servers.{name}]")),
        "[a-z]{4,9}[0-9]{4}".prop_map(|name| format!("[{name}.env]")),
    ];
    let ending = prop_oneof![Just("\n"), Just("\r\n")];
    (
        proptest::collection::vec(line, 0..12),
        ending,
        any::<bool>(),
    )
        .prop_map(|(lines, ending, ends)| {
            let text = lines.join(ending);
            if ends { text + ending } else { text }
        })
}

/// Comments of a text, which an edit must keep.
fn comments(text: &str) -> usize {
    text.matches("note").count() + text.matches("/*").count() + text.matches("# end").count()
}

fn comes_back(client: &Client, before: &str) {
    if client.format.parse(before).is_err() {
        return;
    }
    let (after, remembered) = connected(client, Some(before));
    assert_eq!(comments(&after), comments(before), "{after}");
    let plan = plan_disconnect(
        client,
        &file(client),
        Some(after.as_bytes()),
        Some(&remembered),
    );
    let expect = DisconnectPlan::Restore {
        before: after.clone().into_bytes(),
        after: before.as_bytes().to_vec(),
    };
    assert_eq!(plan.unwrap(), expect);
    let removed = client
        .format
        .remove(&after, &client.servers, NAME)
        .unwrap()
        .unwrap();
    assert_eq!(comments(&removed), comments(before), "{removed}");
}

proptest! {
    #[test]
    fn any_json_with_comments_comes_back(text in jsonc()) {
        comes_back(find("cursor").unwrap(), &text);
    }

    #[test]
    fn any_toml_comes_back(text in toml()) {
        comes_back(find("codex").unwrap(), &text);
    }

    #[test]
    fn no_text_makes_the_readers_panic(text in "\\PC{0,60}") {
        for client in all() {
            let _ = client.format.parse(&text);
            let _ = plan_connect(client, &file(client), Some(text.as_bytes()), None, &ours(client));
        }
    }
}
