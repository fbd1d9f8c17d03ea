use std::sync::Arc;

use callgate_wire::resource::{ReadResourceResult, Resource, ResourceTemplate};
use callgate_wire::result::Outcome;
use callgate_wire::{Map, RawJson};
use serde::Serialize;

use super::catalog::{Cache, Catalog};
use super::context::RequestCx;
use super::error::RouteError;
use super::handler::{Arguments, Handler};
use super::params;
use super::resource_output::{Reading, ResourceOutput};
use super::round::Round;
use super::service::Shared;
use super::uri_template::UriTemplate;
use crate::error::Error;
use crate::service::{BoxFuture, Call, Reply};

/// A resource with its types forgotten.
pub(crate) struct ResourceRoute {
    mime_type: Option<String>,
    function: Box<ResourceFn>,
}

/// A resource template with its types forgotten.
pub(crate) struct TemplateRoute {
    template: UriTemplate,
    route: ResourceRoute,
}

type ResourceFn =
    dyn Fn(RequestCx, RawJson, Reading) -> BoxFuture<'static, ResourceOutcome> + Send + Sync;

pub(super) type ResourceOutcome = Result<Outcome<ReadResourceResult>, Error>;

impl ResourceRoute {
    pub(crate) fn new<S, H>(resource: &Resource, handler: H) -> Self
    where
        H: Handler<S>,
        H::Arguments: Arguments,
        H::Output: ResourceOutput,
    {
        Self {
            mime_type: resource.mime_type.clone(),
            function: erase(handler),
        }
    }
}

impl TemplateRoute {
    pub(crate) fn new<S, H>(template: &ResourceTemplate, handler: H) -> Result<Self, RouteError>
    where
        H: Handler<S>,
        H::Arguments: Arguments,
        H::Output: ResourceOutput,
    {
        let uri_template = &template.uri_template;
        let parsed = UriTemplate::parse(uri_template).map_err(|source| RouteError::Template {
            uri_template: uri_template.clone(),
            source,
        })?;
        Ok(Self {
            template: parsed,
            route: ResourceRoute {
                mime_type: template.mime_type.clone(),
                function: erase(handler),
            },
        })
    }
}

/// Answers `resources/read`.
pub(crate) async fn read(shared: &Arc<Shared>, call: Call) -> Result<Reply, Error> {
    let keys = ["uri", "inputResponses", "requestState"];
    let [uri, responses, state] = call.params.pick_beside(call.cx.peer.meta(), keys);
    let uri = params::text(uri.as_ref(), "uri")?;
    let catalog = shared.catalog();
    let cache = catalog.cache;
    let round = Round::begin(shared, call, [responses, state])?;
    let handler = open(&catalog, &round.cx, &uri).ok_or_else(|| not_found(&uri))?;
    drop(catalog);
    match round.run(handler).await? {
        Outcome::Complete(result) => complete(shared, result, cache),
        Outcome::InputRequired(result) => round.ask(shared, result),
        Outcome::Task(_) => Err(Error::internal("a resource cannot be a task")),
    }
}

/// Starts reading the resource with this URI, or the first template that it fits.
fn open(
    catalog: &Catalog,
    cx: &RequestCx,
    uri: &str,
) -> Option<BoxFuture<'static, ResourceOutcome>> {
    if let Some(route) = catalog.resources.get(uri) {
        return Some(route.read(cx.clone(), RawJson::empty_object(), uri));
    }
    catalog.templates.iter().find_map(|entry| {
        let variables = entry.template.matches(uri)?;
        let variables: Map<String> = variables.into_iter().collect();
        let variables = RawJson::encode(&variables).expect("texts are JSON");
        Some(entry.route.read(cx.clone(), variables, uri))
    })
}

impl ResourceRoute {
    fn read(
        &self,
        cx: RequestCx,
        variables: RawJson,
        uri: &str,
    ) -> BoxFuture<'static, ResourceOutcome> {
        let reading = Reading {
            uri: uri.to_owned(),
            mime_type: self.mime_type.clone(),
        };
        (self.function)(cx, variables, reading)
    }
}

fn complete(shared: &Shared, mut result: ReadResourceResult, cache: Cache) -> Result<Reply, Error> {
    result.ttl_ms.get_or_insert(cache.ttl_ms);
    result.cache_scope.get_or_insert(cache.scope);
    let meta = result.meta.take();
    shared.results.complete(&result, meta)
}

/// The error for a resource that does not exist.
pub(super) fn not_found(uri: &str) -> Error {
    #[derive(Serialize)]
    struct Data<'a> {
        uri: &'a str,
    }
    let data = RawJson::encode(&Data { uri }).expect("a string is JSON");
    Error::invalid_params("resource not found").with_data(data)
}

fn erase<S, H>(handler: H) -> Box<ResourceFn>
where
    H: Handler<S>,
    H::Arguments: Arguments,
    H::Output: ResourceOutput,
{
    Box::new(
        move |cx, variables, reading| match H::Arguments::decode(&variables) {
            Ok(arguments) => {
                let answer = handler.call(cx, arguments);
                Box::pin(async move { answer.await.into_outcome(&reading) })
            }
            // The URI fits the template but not the type of its variables.
            Err(error) => {
                let error = not_found(&reading.uri).with_source(error);
                Box::pin(std::future::ready(Err(error)))
            }
        },
    )
}
