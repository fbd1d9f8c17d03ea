use std::path::Path;

use callgate_mcp::client::Client;
use callgate_mcp::wire::{Kind, ObjectWriter, RawJson, method};

use crate::browse_args::Resources;
use crate::error::CommandError;
use crate::target::{Target, User};
use crate::{output, present};

/// Lists the resources of a server, and the templates of URIs that it reads.
pub(crate) async fn run(
    args: &Resources,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let url = args.server.as_deref();
    let target = Target::connect(&args.connection, url, data_dir, User::Away)?;
    let client = target.client.clone();
    let work = async {
        let resources = client.list_raw(method::RESOURCES_LIST).await?;
        print(&resources, &templates(&client).await, json)
    };
    target.finish(work).await
}

/// The templates of a server; many servers with resources do not know of them.
pub(super) async fn templates(client: &Client) -> Vec<RawJson> {
    let templates = client.list_raw(method::RESOURCES_TEMPLATES_LIST).await;
    templates.unwrap_or_default()
}

fn print(resources: &[RawJson], templates: &[RawJson], json: bool) -> Result<(), CommandError> {
    if json {
        let object = ObjectWriter::new()
            .array("resources", resources)
            .array("resourceTemplates", templates);
        return Ok(output::json(&object.finish())?);
    }
    let row = |item: &RawJson| {
        let [uri, template, name] = item.pick(["uri", "uriTemplate", "name"]);
        let text = |value: Option<RawJson>| {
            let value = value.filter(|value| value.kind() == Kind::String)?;
            Some(value.text()?.into_owned())
        };
        let about = super::list::first_line(item);
        let about = match about.is_empty() {
            true => text(name).unwrap_or_default(),
            false => about,
        };
        (
            text(uri).or_else(|| text(template)).unwrap_or_default(),
            about,
        )
    };
    let rows: Vec<_> = resources.iter().chain(templates).map(row).collect();
    present::rows(&rows)
}
