use std::sync::Arc;

use callgate_wire::prompt::Prompt;
use callgate_wire::resource::{Resource, ResourceTemplate};

use super::catalog::Catalog;
use super::error::RouteError;
use super::handler::Handler;
use super::prompt::{PromptOutput, PromptRoute};
use super::resource::{ResourceOutput, ResourceRoute};
use super::service::Router;
use super::skill;
use super::tool::{ToolEntry, ToolRoute};
use super::uri_template::UriTemplate;
use crate::header_param::HeaderParams;
use crate::seal::StateKey;
use crate::skill::SkillFiles;
use crate::subscribers::ServerChange;

/// Changes while the router runs. Subscribers are notified.
impl Router {
    /// Adds a tool, or replaces the one of the same name.
    ///
    /// # Errors
    /// The name is not a valid tool name, or a schema is invalid.
    pub fn add_tool(&self, route: ToolRoute) -> Result<(), RouteError> {
        let entry = Arc::new(ToolEntry::new(route)?);
        self.change(&ServerChange::Tools, |catalog| {
            catalog.has_tasks |= entry.can_be_a_task();
            let tool = &entry.route.tool;
            catalog.tools.insert(&tool.name, tool, entry.clone());
        });
        Ok(())
    }

    /// Removes a tool. Returns false if there was none. Calls under way go on.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.remove(&ServerChange::Tools, |catalog| catalog.tools.remove(name))
    }

    /// Adds a prompt, or replaces the one of the same name.
    pub fn add_prompt<S, H>(&self, prompt: Prompt, handler: H)
    where
        H: Handler<S, Output: PromptOutput>,
    {
        let route = Arc::new(PromptRoute::new(prompt, handler));
        self.change(&ServerChange::Prompts, |catalog| {
            let prompt = &route.prompt;
            catalog.prompts.insert(&prompt.name, prompt, route.clone());
        });
    }

    /// Removes a prompt. Returns false if there was none.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.remove(&ServerChange::Prompts, |catalog| {
            catalog.prompts.remove(name)
        })
    }

    /// Adds a resource, or replaces the one of the same URI.
    #[expect(clippy::needless_pass_by_value, reason = "as with tools")]
    pub fn add_resource<S, H>(&self, resource: Resource, handler: H)
    where
        H: Handler<S, Output: ResourceOutput>,
    {
        let route = Arc::new(ResourceRoute::new(resource.mime_type.clone(), handler));
        self.change(&ServerChange::Resources, |catalog| {
            catalog.resources.insert(&resource.uri, &resource, route);
        });
    }

    /// Removes a resource. Returns false if there was none.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.remove(&ServerChange::Resources, |catalog| {
            catalog.resources.remove(uri)
        })
    }

    /// Adds a resource template, or replaces the one with the same URI template.
    ///
    /// # Errors
    /// The URI template has expressions other than `{name}` and `{+name}`.
    #[expect(clippy::needless_pass_by_value, reason = "as with tools")]
    pub fn add_resource_template<S, H>(
        &self,
        template: ResourceTemplate,
        handler: H,
    ) -> Result<(), RouteError>
    where
        H: Handler<S, Output: ResourceOutput>,
    {
        let key = &template.uri_template;
        let parsed = UriTemplate::parse(key).map_err(|source| RouteError::Template {
            uri_template: key.clone(),
            source,
        })?;
        let route = ResourceRoute::new(template.mime_type.clone(), handler);
        let route = Arc::new((parsed, route));
        self.change(&ServerChange::Resources, |catalog| {
            catalog.templates.insert(key, &template, route);
        });
        Ok(())
    }

    /// Removes a resource template. Returns false if there was none.
    pub fn remove_resource_template(&self, uri_template: &str) -> bool {
        self.remove(&ServerChange::Resources, |catalog| {
            catalog.templates.remove(uri_template)
        })
    }

    /// Adds a skill, or replaces the one of the same URI. Its files become resources.
    ///
    /// A skill in a folder of another skill has to be added on its own to be listed as one; its files
    /// are files of the other skill too.
    pub fn add_skill(&self, skill: SkillFiles) {
        self.change(&ServerChange::Resources, |catalog| {
            skill::insert(catalog, skill);
        });
    }

    /// Removes the skill with this URI of its `SKILL.md`, and its files but those that another
    /// skill has too. Returns false if there was none.
    pub fn remove_skill(&self, uri: &str) -> bool {
        self.remove(&ServerChange::Resources, |catalog| {
            skill::remove(catalog, uri)
        })
    }

    /// Rotates the key that seals the state of requests: new states get `key`, and states that were
    /// sealed with one of the three keys before it are still accepted.
    pub fn rotate_state_key(&self, key: StateKey) {
        self.state.sealer.rotate(key);
    }

    /// Notifies the subscribers of the resource with this URI that it changed.
    pub fn resource_updated(&self, uri: &str) {
        let change = ServerChange::Resource(uri.to_owned());
        self.state.subscribers.publish(&change);
    }

    /// Closes all open subscriptions, as a server does before it stops. Each one gets its result.
    pub fn close_subscriptions(&self) {
        self.state.subscribers.close();
    }

    /// Lookup of the tool parameters that requests mirror in HTTP headers, for an HTTP server to check.
    #[must_use]
    pub fn header_params(&self) -> HeaderParams {
        let router = self.state.clone();
        Arc::new(move |tool| {
            let catalog = router.catalog();
            Some(catalog.tools.get(tool)?.header_params.clone())
        })
    }

    fn change(&self, what: &ServerChange, change: impl FnOnce(&mut Catalog)) {
        // Published after the edit: a client that lists again at once sees the new list.
        self.state.edit(change);
        self.state.subscribers.publish(what);
    }

    fn remove(&self, what: &ServerChange, remove: impl FnOnce(&mut Catalog) -> bool) -> bool {
        let removed = self.state.edit(remove);
        if removed {
            self.state.subscribers.publish(what);
        }
        removed
    }
}
