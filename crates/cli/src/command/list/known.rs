use std::time::SystemTime;

use callgate_mcp::RawJson;
use callgate_mcp::wire::{Limits, method};

use crate::config::load::{ConfiguredServer, FaultyServer};
use crate::gateway::{CatalogFiles, ServerReport, Status, tool_policy};

/// State of a server as far as it is known without connecting to it; `None` if nothing is.
pub(super) fn report(
    server: &ConfiguredServer,
    catalogs: Option<&CatalogFiles>,
) -> Option<ServerReport> {
    if !server.trusted {
        let path = server.origin.path.display();
        let reason = format!("{path} is not trusted");
        return Some(of_status(server, Status::Untrusted, Some(reason)));
    }
    if !server.definition.enabled {
        return Some(of_status(server, Status::Disabled, None));
    }
    if let Err(error) = server.resolve() {
        return Some(of_status(
            server,
            Status::Failed,
            Some(error.message_line()),
        ));
    }
    let (catalog, kept) = catalogs?.load(server.definition_hash().as_str())?;
    let kept = kept.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let limits = Limits::default().with_bytes(catalog.len());
    let catalog = RawJson::parse(catalog.into(), &limits).ok()?;
    let items = |method: &str| catalog.get(method).map(|list| list.elements());
    let tools = items(method::TOOLS_LIST)?;
    let policy = tool_policy(&server.definition);
    let is_offered = |tool: &&RawJson| {
        let name = tool.get("name");
        let name = name.as_ref().and_then(RawJson::text);
        name.is_some_and(|name| policy.offers(&name))
    };
    let revision = catalog.get("revision");
    Some(ServerReport {
        revision: revision.as_ref().and_then(RawJson::text).map(Into::into),
        tools: Some(tools.iter().filter(is_offered).count()),
        prompts: items(method::PROMPTS_LIST).map(|list| list.len()),
        resources: items(method::RESOURCES_LIST).map(|list| list.len()),
        as_of: Some(kept.as_secs()),
        ..of_status(server, Status::Idle, None)
    })
}

/// State of a server whose entry has mistakes.
pub(super) fn faulty(server: &FaultyServer) -> ServerReport {
    let reason = Some(server.error().message_line());
    report_of(&server.name, "-", Status::Failed, reason)
}

fn of_status(server: &ConfiguredServer, status: Status, reason: Option<String>) -> ServerReport {
    let transport = server.definition.transport();
    report_of(server.name.as_str(), transport, status, reason)
}

fn report_of(name: &str, transport: &str, status: Status, reason: Option<String>) -> ServerReport {
    ServerReport {
        reason,
        transport: transport.to_owned(),
        ..ServerReport::of_status(name, status)
    }
}
