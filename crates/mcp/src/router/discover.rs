use callgate_wire::RawJson;
use callgate_wire::capabilities::{ListCapability, ResourcesCapability, ServerCapabilities};
use callgate_wire::discover::DiscoverResult;
use callgate_wire::task::EXTENSION;

use super::catalog::Catalog;
use super::service::Shared;
use crate::error::Error;
use crate::server::accept::SUPPORTED;
use crate::service::Reply;

/// Answers `server/discover`.
pub(crate) fn discover(shared: &Shared, catalog: &Catalog) -> Result<Reply, Error> {
    let versions = SUPPORTED
        .iter()
        .map(|version| version.as_str().to_owned())
        .collect();
    let result = DiscoverResult {
        instructions: catalog.instructions.clone(),
        ttl_ms: Some(catalog.cache.ttl_ms),
        cache_scope: Some(catalog.cache.scope),
        ..DiscoverResult::new(versions, capabilities(catalog))
    };
    shared.results.complete(&result, None)
}

/// What the router can do: whatever has been registered, and logging, which any handler may use.
fn capabilities(catalog: &Catalog) -> ServerCapabilities {
    let list = || ListCapability {
        list_changed: Some(true),
    };
    let capabilities = ServerCapabilities {
        logging: Some(RawJson::empty_object()),
        completions: catalog.completion.as_ref().map(|_| RawJson::empty_object()),
        prompts: catalog.prompts.was_used().then(list),
        resources: catalog.has_resources().then_some(ResourcesCapability {
            subscribe: Some(true),
            list_changed: Some(true),
        }),
        tools: catalog.tools.was_used().then(list),
        ..ServerCapabilities::default()
    };
    match catalog.has_tasks {
        true => capabilities.with_extension(EXTENSION, RawJson::empty_object()),
        false => capabilities,
    }
}
