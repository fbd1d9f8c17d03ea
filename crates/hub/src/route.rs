use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use callgate_mcp::wire::{Splice, method};
use callgate_mcp::{Call, Error, RawJson, Reply};

use crate::catalog::{ADDRESS, Item, ListKind, Snapshot};
use crate::server::Server;
use crate::server_name::ServerName;

/// Way of a request to the server that it is for.
pub(crate) struct Route {
    pub(crate) server: Arc<Server>,
    /// True if the request may be sent twice.
    pub(crate) repeatable: bool,
    /// True if the request is about a task.
    pub(crate) is_about_task: bool,
}

/// Finds the server that a request is for, and replaces the exposed name in it by the server's own.
///
/// # Errors
/// The request names nothing that a server offers.
pub(crate) fn route(
    snapshot: &Snapshot,
    call: &mut Call,
    server: impl Fn(&ServerName) -> Option<Arc<Server>>,
) -> Result<Route, Error> {
    match call.method.as_str() {
        method::TOOLS_CALL => by_name(snapshot, call, ListKind::Tools, "tool", &["name"]),
        method::PROMPTS_GET => by_name(snapshot, call, ListKind::Prompts, "prompt", &["name"]),
        method::RESOURCES_READ => by_uri(snapshot, call, &["uri"], &server),
        method::COMPLETION_COMPLETE => match call.params().at(&["ref", "name"]) {
            Some(_) => by_name(
                snapshot,
                call,
                ListKind::Prompts,
                "prompt",
                &["ref", "name"],
            ),
            None => by_uri(snapshot, call, &["ref", "uri"], &server),
        },
        method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL => by_task(call, &server),
        _ => Err(Error::method_not_found(&call.method)),
    }
}

/// Puts the server into the id of a task, so that later requests find it.
pub(crate) fn expose(reply: Reply, server: &Server, is_about_task: bool) -> Reply {
    match reply {
        Reply::Task(result) => Reply::Task(expose_task(result, server)),
        Reply::Complete(result) if is_about_task => Reply::Complete(expose_task(result, server)),
        reply => reply,
    }
}

/// Puts the server into the `taskId` of a result or of the params of a notification.
pub(crate) fn expose_task(message: RawJson, server: &Server) -> RawJson {
    let id = message.get("taskId");
    let id = id.as_ref().and_then(RawJson::text);
    let exposed = id.map(|id| task_id(server.name(), &id));
    let edited = exposed.and_then(|id| {
        let edit = Splice::new(&message).set(&["taskId"], &RawJson::string(&id));
        edit.finish().ok()
    });
    edited.unwrap_or(message)
}

fn by_name(
    snapshot: &Snapshot,
    call: &mut Call,
    kind: ListKind,
    noun: &str,
    path: &[&str],
) -> Result<Route, Error> {
    let name = value_at(call, path)?;
    let name = text_of(&name, path)?;
    let item = snapshot.list(kind).get(&name).ok_or_else(|| {
        let text = format!("unknown {noun} `{name}`");
        Error::invalid_params(text)
    })?;
    let repeatable = item.repeatable || call.method.is_repeatable();
    let change = item.server.config.tools.change(&item.own);
    if let Some(change) = change.filter(|_| kind == ListKind::Tools) {
        let sent = call.params().get("arguments");
        if let Some(arguments) = change.arguments(sent)? {
            set(call, &["arguments"], &arguments)?;
        }
    }
    if let Some(own) = &item.own_json {
        set(call, path, own)?;
    }
    Ok(Route {
        server: item.server.clone(),
        is_about_task: false,
        repeatable,
    })
}

fn by_uri(
    snapshot: &Snapshot,
    call: &mut Call,
    path: &[&str],
    server: impl Fn(&ServerName) -> Option<Arc<Server>>,
) -> Result<Route, Error> {
    let uri = value_at(call, path)?;
    let uri = text_of(&uri, path)?;
    if let Some((server, own)) = owner_of(snapshot, &uri, server) {
        return rewritten(server, call, path, &own, &uri, true);
    }
    let data = RawJson::encode(&BTreeMap::from([("uri", &uri)])).expect("a text is JSON");
    Err(Error::invalid_params(format!("resource `{uri}` not found")).with_data(data))
}

/// Finds the server of a resource and its own URI of it: by the lists, by the `mcp://server/` address, or
/// by a template.
pub(crate) fn owner_of(
    snapshot: &Snapshot,
    uri: &str,
    server: impl Fn(&ServerName) -> Option<Arc<Server>>,
) -> Option<(Arc<Server>, Arc<str>)> {
    for kind in [ListKind::Resources, ListKind::Templates] {
        if let Some(item) = snapshot.list(kind).get(uri) {
            return Some((item.server.clone(), item.own.clone()));
        }
    }
    if let Some((name, own)) = addressed(uri)
        && let Some(server) = server(&name)
    {
        return Some((server, Arc::from(own)));
    }
    let templates = snapshot.list(ListKind::Templates).items();
    // No template of any text takes the address of a server that is not here: that is left to another hub, which lists
    // addresses as they are.
    let is_address = uri.starts_with(ADDRESS);
    let may_have = |item: &Item| {
        let lists_addresses = item.own.starts_with(ADDRESS) && item.key == item.own;
        (lists_addresses || !is_address) && may_match(&item.own, uri)
    };
    let item = templates.iter().find(|item| may_have(item))?;
    Some((item.server.clone(), Arc::from(uri)))
}

fn by_task(
    call: &mut Call,
    server: impl Fn(&ServerName) -> Option<Arc<Server>>,
) -> Result<Route, Error> {
    let path = &["taskId"];
    let id = value_at(call, path)?;
    let id = text_of(&id, path)?;
    let unknown = || Error::invalid_params(format!("unknown task `{id}`"));
    let (name, own) = split_task_id(&id).ok_or_else(unknown)?;
    let server = server(&name).ok_or_else(unknown)?;
    let repeatable = call.method.is_repeatable();
    rewritten(server, call, path, own, &id, repeatable)
}

/// The way to a server, with its own name in the call at `path`.
fn rewritten(
    server: Arc<Server>,
    call: &mut Call,
    path: &[&str],
    own: &str,
    exposed: &str,
    repeatable: bool,
) -> Result<Route, Error> {
    if own != exposed {
        set(call, path, &RawJson::string(own))?;
    }
    Ok(Route {
        server,
        is_about_task: is_about_task(call),
        repeatable,
    })
}

fn is_about_task(call: &Call) -> bool {
    matches!(
        call.method.as_str(),
        method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL
    )
}

fn set(call: &mut Call, path: &[&str], value: &RawJson) -> Result<(), Error> {
    call.set(path, value).map_err(|error| {
        Error::invalid_params(format!("`{}` cannot be read", path.join("."))).with_source(error)
    })
}

fn value_at(call: &Call, path: &[&str]) -> Result<RawJson, Error> {
    let value = call.params().at(path);
    value.ok_or_else(|| not_a_string(path))
}

/// The text of the value at `path`. It borrows from the value and not from the call, which is edited.
fn text_of<'v>(value: &'v RawJson, path: &[&str]) -> Result<Cow<'v, str>, Error> {
    value.text().ok_or_else(|| not_a_string(path))
}

fn not_a_string(path: &[&str]) -> Error {
    Error::invalid_params(format!("`{}` must be a string", path.join(".")))
}

/// Splits `mcp://server/uri`.
fn addressed(uri: &str) -> Option<(ServerName, &str)> {
    let (name, own) = uri.strip_prefix(ADDRESS)?.split_once('/')?;
    Some((ServerName::new(name).ok()?, own))
}

/// True if a URI may be an expansion of a template: the text before the first expression and after
/// the last one occur in it. Best-effort; the server decides.
fn may_match(template: &str, uri: &str) -> bool {
    let prefix = template.split('{').next().unwrap_or_default();
    let suffix = template.rsplit('}').next().unwrap_or_default();
    template.contains('{')
        && uri.len() >= prefix.len() + suffix.len()
        && uri.starts_with(prefix)
        && uri.ends_with(suffix)
}

/// Id of a task as callers see it. The length says where the name of the server ends.
pub(crate) fn task_id(server: &ServerName, id: &str) -> String {
    format!("{}:{server}:{id}", server.as_str().len())
}

/// The server and its own id of a task that a caller names.
pub(crate) fn split_task_id(id: &str) -> Option<(ServerName, &str)> {
    let (length, rest) = id.split_once(':')?;
    let length: usize = length.parse().ok()?;
    let name = ServerName::new(rest.get(..length)?).ok()?;
    Some((name, rest.get(length..)?.strip_prefix(':')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_task_names_its_server() {
        let check = |server: &str, id: &str| {
            let server = ServerName::new(server).unwrap();
            let exposed = task_id(&server, id);
            assert_eq!(split_task_id(&exposed), Some((server, id)), "{exposed}");
        };
        check("a", "1");
        check("a:b", "1:2");
        check("größe", "");
        for id in ["", "1", "9:a:1", "1:a", "x:a:1", "1:ä:1"] {
            assert_eq!(split_task_id(id), None, "{id}");
        }
    }

    #[test]
    fn a_uri_may_belong_to_a_template() {
        assert!(may_match("file:///{path}", "file:///a/b"));
        assert!(may_match("t://{id}/data", "t://7/data"));
        assert!(!may_match("t://{id}/data", "t://7/other"));
        assert!(!may_match("t://{id}/data", "t:///dat"));
        assert!(!may_match("t://fixed", "t://fixed"));
    }
}
