use callgate_wire::capabilities::{ListCapability, ResourcesCapability, ServerCapabilities};
use callgate_wire::discover::DiscoverResult;
use callgate_wire::skill::{self, SkillsCapability};
use callgate_wire::{RawJson, task};

use super::catalog::Catalog;
use super::service::RouterState;
use crate::error::Error;
use crate::server::accept::SUPPORTED;
use crate::service::Reply;

/// Answers `server/discover`.
pub(crate) fn discover(router: &RouterState, catalog: &Catalog) -> Result<Reply, Error> {
    let versions = SUPPORTED
        .iter()
        .map(|version| version.as_str().to_owned())
        .collect();
    let mut result = DiscoverResult::new(versions, capabilities(catalog));
    result.instructions.clone_from(&catalog.instructions);
    result.ttl_ms = Some(catalog.cache.ttl_ms);
    result.cache_scope = Some(catalog.cache.scope);
    router.results.complete(&result, None)
}

/// Server capabilities: the features that have been registered, and logging, which any handler may
/// use.
fn capabilities(catalog: &Catalog) -> ServerCapabilities {
    let list = ListCapability::with_notifications;
    let resources = ResourcesCapability::with_notifications;
    let mut capabilities = ServerCapabilities::default();
    capabilities.logging = Some(RawJson::empty_object());
    capabilities.completions = catalog.completion.as_ref().map(|_| RawJson::empty_object());
    capabilities.prompts = catalog.prompts.was_used().then(list);
    capabilities.resources = catalog.has_resources().then(resources);
    capabilities.tools = catalog.tools.was_used().then(list);
    if catalog.has_tasks {
        capabilities = capabilities.with_extension(task::EXTENSION, RawJson::empty_object());
    }
    if catalog.skills.was_used() {
        let settings = RawJson::encode(&SkillsCapability::with_directories());
        let settings = settings.expect("settings are JSON");
        capabilities = capabilities.with_extension(skill::EXTENSION, settings);
    }
    capabilities
}
