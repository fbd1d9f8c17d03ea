use std::sync::Arc;

use callgate_wire::resource::{ReadResourceResult, ResourceContents};
use callgate_wire::result::Outcome;
use callgate_wire::{Map, RawJson};

use super::catalog::Catalog;
use super::context::RequestCx;
use super::handler::{ErasedHandler, Handler, erase};
use super::handler_call::HandlerCall;
use super::params;
use super::service::RouterState;
use super::uri_template::UriTemplate;
use crate::error::Error;
use crate::service::{BoxFuture, Call, Reply};

/// Result of a resource handler.
///
/// Text and bytes get the URI of the request and the media type of the resource. `None` means that
/// the resource does not exist.
pub trait ResourceOutput {
    /// Converts to the result of the protocol, or to input requests.
    ///
    /// # Errors
    /// The request failed.
    fn into_outcome(
        self,
        requested: &RequestedResource,
    ) -> Result<Outcome<ReadResourceResult>, Error>;
}

/// Resource that a client asked to read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestedResource {
    /// URI of the request.
    pub uri: String,
    /// Media type of the resource in the list of resources.
    pub mime_type: Option<String>,
}

/// Resource with its type-erased handler.
pub(crate) struct ResourceRoute {
    mime_type: Option<String>,
    function: Arc<ErasedHandler<RequestedResource, ResourceOutcome>>,
}

/// Resource template with the route of the resources that match it.
pub(crate) type TemplateRoute = (UriTemplate, ResourceRoute);

type ResourceOutcome = Result<Outcome<ReadResourceResult>, Error>;

impl ResourceRoute {
    pub(crate) fn new<S, H>(mime_type: Option<String>, handler: H) -> Self
    where
        H: Handler<S, Output: ResourceOutput>,
    {
        let function = erase(
            handler,
            |output: H::Output, requested: &RequestedResource| output.into_outcome(requested),
            // The URI matches the template but not the types of its variables, so there is no such
            // resource.
            |error, _, requested| Err(not_found(&requested.uri).with_source(error)),
        );
        Self {
            mime_type,
            function,
        }
    }

    fn read(
        &self,
        cx: &RequestCx,
        variables: &RawJson,
        uri: &str,
    ) -> BoxFuture<'static, ResourceOutcome> {
        let requested = RequestedResource::new(uri, self.mime_type.clone());
        (self.function)(cx.clone(), variables, requested)
    }
}

/// Answers `resources/read`.
pub(crate) async fn read(router: &Arc<RouterState>, call: Call) -> Result<Reply, Error> {
    let [uri, _, responses, state] = params::handler_members(&call);
    let uri = params::target(&call.method, uri.as_ref())?;
    let catalog = router.catalog();
    let cache = catalog.cache;
    let request = HandlerCall::new(router, call, [responses, state])?;
    let handler = start_handler(&catalog, &request.cx, &uri).ok_or_else(|| not_found(&uri))?;
    // A snapshot that is held while the handler runs would make each change copy the catalog.
    drop(catalog);
    let complete = |mut result: ReadResourceResult| {
        // The policy of the router, where the handler did not set one.
        result.ttl_ms.get_or_insert(cache.ttl_ms);
        result.cache_scope.get_or_insert(cache.scope);
        let meta = result.meta.take();
        router.results.complete(&result, meta)
    };
    request.run(router, handler, complete).await
}

/// Starts the handler of the resource with this URI, or of the first template that matches it.
fn start_handler(
    catalog: &Catalog,
    cx: &RequestCx,
    uri: &str,
) -> Option<BoxFuture<'static, ResourceOutcome>> {
    if let Some(route) = catalog.resources.get(uri) {
        return Some(route.read(cx, &RawJson::empty_object(), uri));
    }
    catalog.templates.iter().find_map(|entry| {
        let (template, route) = &**entry;
        let variables: Map<String> = template.matches(uri)?.into_iter().collect();
        let variables = RawJson::encode(&variables).expect("texts are JSON");
        Some(route.read(cx, &variables, uri))
    })
}

/// Error for a resource that does not exist.
fn not_found(uri: &str) -> Error {
    refuse(uri, "resource not found")
}

/// Error for a URI that does not lead to what the request needs.
pub(crate) fn refuse(uri: &str, message: &str) -> Error {
    let data: Map<&str> = [("uri", uri)].into_iter().collect();
    let data = RawJson::encode(&data).expect("a string is JSON");
    Error::invalid_params(message).with_data(data)
}

impl RequestedResource {
    /// Resource with this URI and media type, to convert a [`ResourceOutput`] outside of a router.
    #[must_use]
    pub fn new(uri: impl Into<String>, mime_type: Option<String>) -> Self {
        Self {
            uri: uri.into(),
            mime_type,
        }
    }

    fn typed(&self, contents: ResourceContents) -> ResourceOutcome {
        match &self.mime_type {
            Some(mime_type) => contents.with_mime_type(mime_type),
            None => contents,
        }
        .into_outcome(self)
    }
}

impl ResourceOutput for ReadResourceResult {
    fn into_outcome(self, _requested: &RequestedResource) -> ResourceOutcome {
        Ok(Outcome::Complete(self))
    }
}

impl ResourceOutput for Vec<ResourceContents> {
    fn into_outcome(self, _requested: &RequestedResource) -> ResourceOutcome {
        let mut result = ReadResourceResult::new(self);
        // Left to the cache policy of the router.
        (result.ttl_ms, result.cache_scope) = (None, None);
        Ok(Outcome::Complete(result))
    }
}

impl ResourceOutput for ResourceContents {
    fn into_outcome(self, requested: &RequestedResource) -> ResourceOutcome {
        vec![self].into_outcome(requested)
    }
}

impl ResourceOutput for String {
    fn into_outcome(self, requested: &RequestedResource) -> ResourceOutcome {
        requested.typed(ResourceContents::text(&requested.uri, self))
    }
}

impl ResourceOutput for &'static str {
    fn into_outcome(self, requested: &RequestedResource) -> ResourceOutcome {
        requested.typed(ResourceContents::text(&requested.uri, self))
    }
}

impl ResourceOutput for Vec<u8> {
    fn into_outcome(self, requested: &RequestedResource) -> ResourceOutcome {
        requested.typed(ResourceContents::blob(&requested.uri, &self))
    }
}

impl<O: ResourceOutput> ResourceOutput for Option<O> {
    fn into_outcome(self, requested: &RequestedResource) -> ResourceOutcome {
        self.ok_or_else(|| not_found(&requested.uri))?
            .into_outcome(requested)
    }
}

impl<O: ResourceOutput> ResourceOutput for Outcome<O> {
    fn into_outcome(self, requested: &RequestedResource) -> ResourceOutcome {
        self.and_then(|output| output.into_outcome(requested))
    }
}

impl<O: ResourceOutput, E: Into<Error>> ResourceOutput for Result<O, E> {
    fn into_outcome(self, requested: &RequestedResource) -> ResourceOutcome {
        self.map_err(Into::into)?.into_outcome(requested)
    }
}
