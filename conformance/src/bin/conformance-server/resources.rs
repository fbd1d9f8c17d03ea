//! Resources and a template.

use callgate_mcp::router::{RouteError, Router};
use callgate_mcp::wire::resource::{Resource, ResourceTemplate};
use serde::Deserialize;
use serde_json::json;

use crate::content::PNG;

pub(crate) fn add(router: &Router) -> Result<(), RouteError> {
    router.add_resource(
        resource("test://static-text", "Static text", "text/plain"),
        async || "This is the content of the static text resource.",
    );
    router.add_resource(
        resource("test://static-binary", "Static binary", "image/png"),
        async || PNG.to_vec(),
    );
    router.add_resource(
        resource("test://watched-resource", "Watched", "text/plain"),
        async || "This is the content of the watched resource.",
    );
    let template = ResourceTemplate::new("test://template/{id}/data", "Template")
        .with_description("Data by id")
        .with_mime_type("application/json");
    router.add_resource_template(template, async |variables: Variables| {
        let id = variables.id;
        json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") }).to_string()
    })
}

fn resource(uri: &str, name: &str, mime_type: &str) -> Resource {
    Resource::new(uri, name)
        .with_description(format!("{name} for testing"))
        .with_mime_type(mime_type)
}

#[derive(Deserialize)]
struct Variables {
    id: String,
}
