//! Edits of configuration files that keep comments and formatting.

use std::collections::BTreeMap;
use std::path::Path;

use callgate_hub::ServerName;
use callgate_mcp::wire::RawJson;
use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};

use super::definition::ServerDefinition;
use super::digest::{ContentHash, sha256};
use super::file_write::edit_file;
use super::keys::SERVERS;
use super::mistake::{Mistake, Mistakes};
use super::places::PROJECT_FILES;
use super::text::{self, BYTE_ORDER_MARK, members, parse, parse_options, whole};
use crate::error::CommandError;
use crate::file_replace::FileMode;

/// Result of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edited {
    /// False if there is no server with this name, so that the file is as it was.
    pub(crate) found: bool,
    /// Hash of the file before; `None` if there was none.
    pub(crate) before: Option<ContentHash>,
    /// Hash of the file now.
    pub(crate) after: Option<ContentHash>,
}

/// Adds a server to the file at `path`, which is made if it is not there, or replaces the one with its name.
pub(crate) fn set_server(
    path: &Path,
    name: &ServerName,
    definition: &ServerDefinition,
) -> Result<Edited, CommandError> {
    set_server_json(path, name, &definition.to_json())
}

/// The same with the JSON of a definition, which is written with all of its keys.
pub(crate) fn set_server_json(
    path: &Path,
    name: &ServerName,
    json: &RawJson,
) -> Result<Edited, CommandError> {
    edit(path, |text| with_server(text, name.as_str(), json))
}

/// Removes a server.
pub(crate) fn remove_server(path: &Path, name: &ServerName) -> Result<Edited, CommandError> {
    edit(path, |text| without_server(text, name.as_str()))
}

/// Turns a server on or off.
pub(crate) fn set_enabled(
    path: &Path,
    name: &ServerName,
    enabled: bool,
) -> Result<Edited, CommandError> {
    edit(path, |text| with_enabled(text, name.as_str(), enabled))
}

fn edit(
    path: &Path,
    edit: impl FnOnce(&str) -> Result<Option<String>, Mistake>,
) -> Result<Edited, CommandError> {
    let mut result = Edited {
        found: false,
        before: None,
        after: None,
    };
    edit_file(path, mode(path), |whole| {
        result.before = whole.map(|text| sha256(text.as_bytes()));
        let whole = whole.unwrap_or_default();
        let text = whole.strip_prefix(BYTE_ORDER_MARK).unwrap_or(whole);
        let mark = whole.get(..whole.len() - text.len()).unwrap_or_default();
        let edited = edit(text).map_err(|mistake| Mistakes::from(mistake).in_file(path))?;
        let edited = edited.map(|edited| format!("{mark}{edited}"));
        result.found = edited.is_some();
        result.after = match &edited {
            Some(text) => Some(sha256(text.as_bytes())),
            None => result.before.clone(),
        };
        Ok(edited)
    })?;
    Ok(result)
}

/// Files of a project are shared; that of the user may hold secrets.
fn mode(path: &Path) -> FileMode {
    let name = path.file_name().unwrap_or_default();
    match PROJECT_FILES.iter().any(|project| name == *project) {
        true => FileMode::Usual,
        false => FileMode::Private,
    }
}

fn with_server(text: &str, name: &str, json: &RawJson) -> Result<Option<String>, Mistake> {
    let is_new_file = text.trim().is_empty();
    let start = if is_new_file { "{}\n" } else { text };
    let (root, object) = root(start)?;
    let value = input(json)?;
    match find(&object, name) {
        Some(server) => server.set_value(value),
        None => {
            let key = SERVERS.iter().find(|key| object.get(key).is_some());
            let key = key.unwrap_or(&"mcpServers");
            let servers = object.object_value_or_create(key);
            let servers = servers.ok_or_else(|| not_an_object(key))?;
            servers.append(name, value);
        }
    }
    checked(start, root.to_string(), name).map(Some)
}

fn without_server(text: &str, name: &str) -> Result<Option<String>, Mistake> {
    let (root, object) = root(text)?;
    let Some(server) = find(&object, name) else {
        return Ok(None);
    };
    server.remove();
    checked(text, root.to_string(), name).map(Some)
}

fn with_enabled(text: &str, name: &str, enabled: bool) -> Result<Option<String>, Mistake> {
    let (root, object) = root(text)?;
    let Some(server) = find(&object, name) else {
        return Ok(None);
    };
    let server = server.object_value().ok_or_else(|| not_an_object(name))?;
    let keys = [("enabled", enabled), ("disabled", !enabled)];
    let mut is_set = false;
    for (key, value) in keys {
        if let Some(property) = server.get(key) {
            property.set_value(CstInputValue::Bool(value));
            is_set = true;
        }
    }
    if is_set || enabled {
        return checked(text, root.to_string(), name).map(Some);
    }
    if let Some(edited) = disabled_in_line(text, name)? {
        return checked(text, edited, name).map(Some);
    }
    server.append("enabled", CstInputValue::Bool(false));
    checked(text, root.to_string(), name).map(Some)
}

/// The text with a key more in a server that is written in one line, which stays one line.
fn disabled_in_line(text: &str, name: &str) -> Result<Option<String>, Mistake> {
    let Some(Value::Object(file)) = parse(text)? else {
        return Ok(None);
    };
    let maps = SERVERS.iter().filter_map(|key| file.get_object(key));
    let server = maps.filter_map(|servers| servers.get_object(name)).next();
    let Some((server, last)) = server.and_then(|server| Some((server, server.properties.last()?)))
    else {
        return Ok(None);
    };
    if server.text(text).contains('\n') {
        return Ok(None);
    }
    let (before, after) = text.split_at(last.end());
    Ok(Some(format!("{before}, \"enabled\": false{after}")))
}

fn root(text: &str) -> Result<(CstRootNode, CstObject), Mistake> {
    // Its mistakes have our words.
    parse(text)?;
    let root = CstRootNode::parse(text, &parse_options())
        .map_err(|error| whole(format!("this is not JSON: {error}")))?;
    let object = root.object_value_or_create();
    let object = object.ok_or_else(|| not_an_object(""))?;
    Ok((root, object))
}

fn not_an_object(key: &str) -> Mistake {
    match key {
        "" => whole("the configuration must be an object".to_owned()),
        key => whole(format!("`{key}` must be an object")),
    }
}

/// The server with this name, under any of the keys for servers.
fn find(object: &CstObject, name: &str) -> Option<CstObjectProp> {
    let maps = SERVERS.iter().filter_map(|key| object.object_value(key));
    let properties = maps.flat_map(|servers| servers.properties());
    properties
        .into_iter()
        .find(|property| property.decoded_name().as_deref() == Some(name))
}

/// The edited text, if all but the server `name` means what it meant before.
fn checked(before: &str, after: String, name: &str) -> Result<String, Mistake> {
    match meaning(before, name)? == meaning(&after, name)? {
        true => Ok(after),
        false => Err(whole(format!(
            "the server `{name}` cannot be edited without a change of others"
        ))),
    }
}

/// All values of a text but those of the server `name`, by their keys.
fn meaning(text: &str, name: &str) -> Result<BTreeMap<Vec<String>, String>, Mistake> {
    let mut found = BTreeMap::new();
    let Some(Value::Object(object)) = parse(text)? else {
        return Ok(found);
    };
    let mut add = |keys: &[&str], value: &Value<'_>| {
        let raw = text::raw(value).map(|raw| raw.as_str().to_owned());
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        found.insert(keys, raw.unwrap_or_default());
    };
    for (key, value) in members(&object) {
        match value {
            Value::Object(servers) if SERVERS.contains(&key) => {
                for (server, value) in members(servers) {
                    if server != name {
                        add(&[key, server], value);
                    }
                }
            }
            value => add(&[key], value),
        }
    }
    Ok(found)
}

/// A value to put into a text.
fn input(json: &RawJson) -> Result<CstInputValue, Mistake> {
    let value = parse(json.as_str())?;
    let value = value.ok_or_else(|| whole("the definition is empty".to_owned()))?;
    Ok(input_value(&value))
}

fn input_value(value: &Value<'_>) -> CstInputValue {
    match value {
        Value::StringLit(text) => CstInputValue::String(text.value.clone().into_owned()),
        Value::NumberLit(number) => CstInputValue::Number(number.value.to_owned()),
        Value::BooleanLit(literal) => CstInputValue::Bool(literal.value),
        Value::NullKeyword(_) => CstInputValue::Null,
        Value::Array(list) => CstInputValue::Array(list.elements.iter().map(input_value).collect()),
        Value::Object(object) => {
            let pairs = members(object);
            CstInputValue::Object(
                pairs
                    .map(|(name, value)| (name.to_owned(), input_value(value)))
                    .collect(),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;
    use crate::config::read_file::read;

    fn json(text: &str) -> RawJson {
        text::raw(&parse(text).unwrap().unwrap()).unwrap()
    }

    const X: &str = r#"{"command":"x"}"#;

    #[test]
    fn a_server_is_added_in_the_style_of_the_file() {
        for (before, after) in [
            (
                "",
                "{\n  \"mcpServers\": {\n    \"s\": {\n      \"command\": \"x\"\n    }\n  }\n}\n",
            ),
            (
                "{}",
                "{\n  \"mcpServers\": {\n    \"s\": {\n      \"command\": \"x\"\n    }\n  }\n}",
            ),
            (
                "{\n    // mine\n    \"mcpServers\": {\n        \"a\": { \"command\": \"y\" }, // the first\n    },\n}\n",
                "{\n    // mine\n    \"mcpServers\": {\n        \"a\": { \"command\": \"y\" }, // the first\n        \"s\": {\n            \"command\": \"x\",\n        },\n    },\n}\n",
            ),
            (
                "{\n\t\"servers\": {}\n}\n",
                "{\n\t\"servers\": {\n\t\t\"s\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t}\n}\n",
            ),
        ] {
            let seen = with_server(before, "s", &json(X)).unwrap();
            assert_eq!(seen.as_deref(), Some(after), "{before}");
        }
    }

    #[test]
    fn a_server_is_replaced_removed_and_turned_off_alone() {
        let text = "{\n  \"mcpServers\": {\n    // one\n    \"a\": { \"command\": \"y\" },\n    // two\n    \"s\": { \"command\": \"z\", /* why */ \"disabled\": true }, // three\n    \"b\": { \"url\": \"https://b.example/\" }\n  }\n}\n";
        let with = |server: &str| {
            text.replace(
                "{ \"command\": \"z\", /* why */ \"disabled\": true }",
                server,
            )
        };
        assert_eq!(
            with_enabled(text, "s", true).unwrap(),
            Some(with(
                "{ \"command\": \"z\", /* why */ \"disabled\": false }"
            ))
        );
        assert_eq!(
            with_enabled(text, "s", false).unwrap().as_deref(),
            Some(text)
        );
        assert_eq!(
            with_enabled(text, "a", true).unwrap().as_deref(),
            Some(text)
        );
        assert_eq!(
            with_enabled(text, "a", false).unwrap(),
            Some(text.replace(
                "{ \"command\": \"y\" }",
                "{ \"command\": \"y\", \"enabled\": false }"
            ))
        );
        assert_eq!(
            with_server(text, "s", &json(X)).unwrap(),
            Some(with("{\n      \"command\": \"x\"\n    }"))
        );
        let without = without_server(text, "s").unwrap().unwrap();
        let names: Vec<String> = read(&without)
            .unwrap()
            .servers
            .iter()
            .map(|(name, _)| name.to_string())
            .collect();
        assert_eq!(names, ["a", "b"]);
        assert!(
            without.contains("// one\n    \"a\": { \"command\": \"y\" },"),
            "{without}"
        );
        assert_eq!(without_server(text, "c").unwrap(), None);
    }

    #[test]
    fn a_text_that_cannot_be_edited_is_reported() {
        for text in [
            "[]",
            "{\"mcpServers\": []}",
            "{",
            "{\"mcpServers\": {\"s\": 1}}",
        ] {
            let edited = with_enabled(text, "s", false);
            assert!(!matches!(edited, Ok(Some(_))), "{text}: {edited:?}");
        }
        assert!(with_server("{\"mcpServers\": []}", "s", &json(X)).is_err());
    }

    #[test]
    fn an_edit_keeps_the_mode_follows_links_and_leaves_no_other_file() {
        let directory = tempfile::tempdir().unwrap();
        let name = ServerName::new("s").unwrap();
        let (definition, _) = ServerDefinition::from_text(X).unwrap();
        let file = directory.path().join("config.json");
        let first = set_server(&file, &name, &definition).unwrap();
        assert_eq!((first.found, first.before.is_some()), (true, false));
        #[cfg(unix)]
        {
            use std::os::unix::fs::{PermissionsExt, symlink};
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&file), 0o600);
            fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
            let link = directory.path().join("link.json");
            symlink("config.json", &link).unwrap();
            let second = set_enabled(&link, &name, false).unwrap();
            assert_eq!(second.before, first.after);
            assert_eq!(mode(&file), 0o640);
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert!(
                fs::read_to_string(&file)
                    .unwrap()
                    .contains("\"enabled\": false")
            );
            fs::remove_file(link).unwrap();
        }
        assert!(
            !remove_server(&file, &ServerName::new("t").unwrap())
                .unwrap()
                .found
        );
        let files: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
        assert_eq!(files.len(), 1, "{files:?}");
    }

    #[test]
    fn edits_at_once_wait_for_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(".mcp.json");
        let (definition, _) = ServerDefinition::from_text(X).unwrap();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (file, definition) = (&file, &definition);
                scope.spawn(move || {
                    for round in 0..4 {
                        let name = ServerName::new(&format!("s{number}-{round}")).unwrap();
                        set_server(file, &name, definition).unwrap();
                    }
                });
            }
        });
        let content = read(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(content.servers.len(), 32);
    }

    /// Servers, each with the text of its value and a comment before it.
    fn servers() -> impl Strategy<Value = Vec<(String, String)>> {
        let value = prop_oneof![
            Just("{ \"command\": \"x\" }".to_owned()),
            Just(
                "{\n      \"command\": \"x\", // why\n      \"args\": [ \"a\",  \"b\" ],\n    }"
                    .to_owned()
            ),
            Just("{\"url\":\"https://a.example/\",\"disabled\":false}".to_owned()),
            Just("{ /* none */ \"command\" : \"y\" , \"enabled\" : true }".to_owned()),
            "[a-z \\t{}\\\\\"/*]{0,12}"
                .prop_map(|text| format!("{{\"command\": {}}}", RawJson::string(&text).as_str())),
        ];
        let servers = prop::collection::btree_map("[a-zA-Zä\\\\\" ]{1,4}", value, 1..5);
        servers.prop_map(|servers| servers.into_iter().collect())
    }

    /// A file with these servers.
    fn file(servers: &[(String, String)], comma_at_end: bool, space: &str) -> String {
        let mut text =
            format!("// top\n{{{space}\"naming\": \"server_tool\",\n  \"mcpServers\": {{\n");
        for (index, (name, value)) in servers.iter().enumerate() {
            let comma = if index + 1 < servers.len() || comma_at_end {
                ","
            } else {
                ""
            };
            let name = RawJson::string(name);
            text.push_str(&format!(
                "    // before {index}\n    {}:{space}{value}{comma} // after {index}\n",
                name.as_str()
            ));
        }
        text + "  }\n}\n// end\n"
    }

    /// Range of the value of a server.
    fn range(text: &str, name: &str) -> (usize, usize) {
        let Some(Value::Object(file)) = parse(text).unwrap() else {
            panic!("{text}");
        };
        let servers = file.get_object("mcpServers").unwrap();
        let value = &servers.get(name).unwrap().value;
        (value.start(), value.end())
    }

    proptest! {
        #[test]
        fn the_text_around_an_edited_server_stays_byte_for_byte(
            servers in servers(),
            choice in any::<prop::sample::Index>(),
            comma_at_end in any::<bool>(),
            space in "[ \\t]{0,2}",
            enabled in any::<bool>(),
        ) {
            let text = file(&servers, comma_at_end, &space);
            let (name, _) = choice.get(&servers);
            for edited in [with_server(&text, name, &json(X)), with_enabled(&text, name, enabled)] {
                let edited = edited.unwrap().unwrap();
                let ((start, end), (new_start, new_end)) = (range(&text, name), range(&edited, name));
                prop_assert_eq!(&text[..start], &edited[..new_start]);
                prop_assert_eq!(&text[end..], &edited[new_end..]);
            }
        }

        #[test]
        fn other_servers_and_their_comments_stay_when_one_comes_or_goes(
            servers in servers(),
            choice in any::<prop::sample::Index>(),
            comma_at_end in any::<bool>(),
            space in "[ \\t]{0,2}",
        ) {
            let text = file(&servers, comma_at_end, &space);
            let (gone, _) = choice.get(&servers);
            let added = with_server(&text, "a new one", &json(X)).unwrap().unwrap();
            let removed = without_server(&text, gone).unwrap().unwrap();
            for (name, value) in &servers {
                let (start, end) = range(&added, name);
                prop_assert_eq!(&added[start..end], value);
                if name != gone {
                    let (start, end) = range(&removed, name);
                    prop_assert_eq!(&removed[start..end], value);
                }
            }
            for index in 0..servers.len() {
                let before = format!("// before {index}\n");
                let after = format!("// after {index}\n");
                prop_assert!(added.contains(&before) && added.contains(&after), "{}", added);
            }
            prop_assert!(added.starts_with("// top\n") && added.ends_with("// end\n"), "{}", added);
            prop_assert!(removed.starts_with("// top\n") && removed.ends_with("// end\n"), "{}", removed);
        }

        #[test]
        fn any_text_is_read_and_edited_without_a_panic(text in "\\PC*", pieces in prop::collection::vec(
            prop::sample::select(vec!["{", "}", "[", "]", ":", ",", "\"mcpServers\"", "\"s\"", "\"command\"", "\"${\"", "//", "/*", "*/", "\n", "1", "-", "true", "null", "\\", "\u{feff}"]), 0..24,
        )) {
            for text in [text, pieces.concat()] {
                let readable = read(&text).is_ok();
                let edited = with_server(&text, "s", &json(X));
                if let (true, Ok(Some(edited))) = (readable, edited) {
                    prop_assert!(read(&edited).is_ok(), "{}", edited);
                }
                let _ = without_server(&text, "s");
                let _ = with_enabled(&text, "s", false);
            }
        }
    }
}
