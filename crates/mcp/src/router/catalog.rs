use std::sync::Arc;
use std::time::Duration;

use callgate_wire::cache::CacheScope;

use super::completion::CompletionFn;
use super::prompt::PromptRoute;
use super::registry::Registry;
use super::resource::{ResourceRoute, TemplateRoute};
use super::task::TaskConfig;
use super::tool::ToolEntry;

/// All that a router offers, as it is at one moment.
#[derive(Clone)]
pub(crate) struct Catalog {
    pub(crate) instructions: Option<String>,
    pub(crate) page_size: usize,
    pub(crate) cache: Cache,
    /// How long a client may take to answer.
    pub(crate) state_ttl: Duration,
    pub(crate) max_listeners: usize,
    pub(crate) tasks: TaskConfig,
    /// Whether there is, or has been, a tool that can be a task.
    pub(crate) has_tasks: bool,
    pub(crate) tools: Registry<ToolEntry>,
    pub(crate) prompts: Registry<PromptRoute>,
    pub(crate) resources: Registry<ResourceRoute>,
    pub(crate) templates: Registry<TemplateRoute>,
    pub(crate) completion: Option<Arc<CompletionFn>>,
}

/// How long and for whom results may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cache {
    pub(crate) ttl_ms: u64,
    pub(crate) scope: CacheScope,
}

impl Catalog {
    /// Whether there are, or have been, resources of any sort.
    pub(crate) fn has_resources(&self) -> bool {
        self.resources.was_used() || self.templates.was_used()
    }
}

impl Default for Catalog {
    fn default() -> Self {
        Self {
            instructions: None,
            page_size: 100,
            cache: Cache::new(Duration::ZERO, CacheScope::Private),
            state_ttl: Duration::from_secs(600),
            max_listeners: 1_000,
            tasks: TaskConfig::default(),
            has_tasks: false,
            tools: Registry::default(),
            prompts: Registry::default(),
            resources: Registry::default(),
            templates: Registry::default(),
            completion: None,
        }
    }
}

impl Cache {
    pub(crate) fn new(ttl: Duration, scope: CacheScope) -> Self {
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        Self { ttl_ms, scope }
    }
}
