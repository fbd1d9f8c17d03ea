use std::sync::Arc;

use callgate_wire::prompt::Prompt;
use callgate_wire::resource::{Resource, ResourceTemplate};

use super::catalog::Catalog;
use super::error::RouteError;
use super::handler::{Arguments, Handler};
use super::listeners::Change;
use super::prompt::{PromptOutput, PromptRoute};
use super::resource::{ResourceRoute, TemplateRoute};
use super::resource_output::ResourceOutput;
use super::service::Router;
use super::tool::ToolRoute;
use crate::header_param::HeaderParams;
use crate::seal::StateKey;

/// Changing a router while it runs. Listeners are told.
impl Router {
    /// Adds a tool, or replaces the one of the same name.
    ///
    /// # Errors
    /// The name is not one that clients take, or the schema is not one that can be used.
    pub fn add_tool(&self, route: ToolRoute) -> Result<(), RouteError> {
        let (tool, entry) = route.into_entry()?;
        self.change(&Change::Tools, |catalog| {
            catalog.has_tasks |= entry.can_be_a_task();
            catalog.tools.insert(&tool.name, &tool, entry);
        });
        Ok(())
    }

    /// Removes a tool; whether there was one. Calls under way go on.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.remove(&Change::Tools, |catalog| catalog.tools.remove(name))
    }

    /// Adds a prompt, or replaces the one of the same name.
    #[expect(clippy::needless_pass_by_value, reason = "as with tools")]
    pub fn add_prompt<S, H>(&self, prompt: Prompt, handler: H)
    where
        H: Handler<S>,
        H::Arguments: Arguments,
        H::Output: PromptOutput,
    {
        let route = PromptRoute::new(&prompt, handler);
        self.change(&Change::Prompts, |catalog| {
            catalog.prompts.insert(&prompt.name, &prompt, route);
        });
    }

    /// Removes a prompt; whether there was one.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.remove(&Change::Prompts, |catalog| catalog.prompts.remove(name))
    }

    /// Adds a resource, or replaces the one of the same URI.
    #[expect(clippy::needless_pass_by_value, reason = "as with tools")]
    pub fn add_resource<S, H>(&self, resource: Resource, handler: H)
    where
        H: Handler<S>,
        H::Arguments: Arguments,
        H::Output: ResourceOutput,
    {
        let route = ResourceRoute::new(&resource, handler);
        self.change(&Change::Resources, |catalog| {
            catalog.resources.insert(&resource.uri, &resource, route);
        });
    }

    /// Removes a resource; whether there was one.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.remove(&Change::Resources, |catalog| catalog.resources.remove(uri))
    }

    /// Adds resources of a template, or replaces the one with the same template.
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
        H: Handler<S>,
        H::Arguments: Arguments,
        H::Output: ResourceOutput,
    {
        let route = TemplateRoute::new(&template, handler)?;
        self.change(&Change::Resources, |catalog| {
            catalog
                .templates
                .insert(&template.uri_template, &template, route);
        });
        Ok(())
    }

    /// Removes resources of a template; whether there was one.
    pub fn remove_resource_template(&self, uri_template: &str) -> bool {
        self.remove(&Change::Resources, |catalog| {
            catalog.templates.remove(uri_template)
        })
    }

    /// Seals the state of requests with a new key; requests that wait since before go on for a
    /// while, until the key has been changed a few times more.
    pub fn rotate_state_key(&self, key: StateKey) {
        self.shared.sealer.rotate(key);
    }

    /// Tells listeners that the resource with this URI changed.
    pub fn resource_updated(&self, uri: &str) {
        let change = Change::Resource(uri.to_owned());
        self.shared.listeners.tell(&change);
    }

    /// Ends all subscriptions that are open now, as a server does before it stops.
    pub fn close_listeners(&self) {
        self.shared.listeners.close();
    }

    /// Finds the parameters of a tool that requests mirror in headers, for an HTTP server to check.
    #[must_use]
    pub fn header_params(&self) -> HeaderParams {
        let shared = self.shared.clone();
        Arc::new(move |tool| {
            let catalog = shared.catalog();
            let entry = catalog.tools.get(tool)?;
            Some(entry.header_params().clone())
        })
    }

    fn change(&self, what: &Change, change: impl FnOnce(&mut Catalog)) {
        self.shared.edit(change);
        self.shared.listeners.tell(what);
    }

    fn remove(&self, what: &Change, remove: impl FnOnce(&mut Catalog) -> bool) -> bool {
        let removed = self.shared.edit(remove);
        if removed {
            self.shared.listeners.tell(what);
        }
        removed
    }
}
