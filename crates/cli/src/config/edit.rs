//! Edits of configuration files that keep comments and formatting.

use std::collections::BTreeMap;
use std::path::Path;

use callgate_hub::ServerName;
use callgate_mcp::wire::RawJson;
use jsonc_parser::ast::Value;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};

use super::definition::ServerDefinition;
use super::file_write::{FileMode, edit_file};
use super::keys::SERVERS;
use super::mistake::{Mistake, Mistakes};
use super::places::PROJECT_FILES;
use super::text::{self, BYTE_ORDER_MARK, members, parse, parse_options, whole};
use crate::error::CommandError;

/// Adds a server to the file at `path`, which is made if it is not there, or replaces the one with its name.
pub(crate) fn set_server(
    path: &Path,
    name: &ServerName,
    definition: &ServerDefinition,
) -> Result<(), CommandError> {
    set_server_json(path, name, &definition.to_json())
}

/// The same with the JSON of a definition, which is written with all of its keys.
pub(crate) fn set_server_json(
    path: &Path,
    name: &ServerName,
    json: &RawJson,
) -> Result<(), CommandError> {
    edit(path, |text| with_server(text, name.as_str(), json)).map(drop)
}

/// Removes a server; false if there is none with this name.
pub(crate) fn remove_server(path: &Path, name: &ServerName) -> Result<bool, CommandError> {
    edit(path, |text| without_server(text, name.as_str()))
}

/// Turns a server on or off; false if there is none with this name.
pub(crate) fn set_enabled(
    path: &Path,
    name: &ServerName,
    enabled: bool,
) -> Result<bool, CommandError> {
    edit(path, |text| with_enabled(text, name.as_str(), enabled))
}

/// Replaces the text of a file; false if there is nothing to edit.
fn edit(
    path: &Path,
    edit: impl FnOnce(&str) -> Result<Option<String>, Mistake>,
) -> Result<bool, CommandError> {
    let mut is_edited = false;
    edit_file(path, mode(path), |text| {
        let text = text.unwrap_or_default();
        let (mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) => (
                text.get(..text.len() - rest.len()).unwrap_or_default(),
                rest,
            ),
            None => ("", text),
        };
        let edited = edit(text).map_err(|mistake| Mistakes::from(mistake).in_file(path))?;
        is_edited = edited.is_some();
        Ok(edited.map(|edited| format!("{mark}{edited}")))
    })?;
    Ok(is_edited)
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
    if !is_set && !enabled {
        server.append("enabled", CstInputValue::Bool(false));
    }
    checked(text, root.to_string(), name).map(Some)
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
