use callgate_mcp::client::Client;
use callgate_mcp::wire::{ArrayWriter, ObjectWriter, RawJson, method};

use super::browse::{Browse, Named, first_line, no_servers, note_unknown, text_of};
use crate::browse_args::Resources;
use crate::error::CommandError;
use crate::saved_catalog::SavedCatalog;
use crate::server_choice::unknown_server;
use crate::target::User;
use crate::{output, present};

/// Resources of a server, and the templates of URIs that it reads.
struct Lists<'a> {
    server: Option<&'a str>,
    resources: Vec<RawJson>,
    templates: Vec<RawJson>,
}

/// Lists the resources of a server, or of all configured servers.
pub(crate) async fn run(args: &Resources, browse: Browse<'_>) -> Result<(), CommandError> {
    match browse.named(&args.server) {
        Named::Given(url, _) => {
            let target = browse.connect(url, User::Away).await?;
            let client = target.client.clone();
            let work = async {
                let lists = Lists {
                    server: None,
                    resources: client.list_raw(method::RESOURCES_LIST).await?,
                    templates: templates(&client).await,
                };
                print(&[lists], browse.json)
            };
            target.finish(work).await
        }
        Named::Configured(name, _) => {
            let configuration = browse.configuration()?;
            let server = configuration.server(name);
            let server = server.ok_or_else(|| unknown_server(name, &configuration))?;
            let offered = browse.offered(server).await?;
            let lists = offered.catalog.map(|catalog| Lists::saved(name, &catalog));
            print(lists.as_slice(), browse.json)
        }
        Named::Nothing => {
            let configuration = browse.configuration()?;
            if configuration.servers.is_empty() {
                return Err(no_servers());
            }
            let (saved, unknown) = browse.all_saved(&configuration);
            let lists: Vec<_> = saved
                .iter()
                .map(|(server, catalog)| Lists::saved(server.name.as_str(), catalog))
                .collect();
            print(&lists, browse.json)?;
            note_unknown(&unknown);
            Ok(())
        }
    }
}

/// The templates of a server; many servers with resources do not know of them.
async fn templates(client: &Client) -> Vec<RawJson> {
    let templates = client.list_raw(method::RESOURCES_TEMPLATES_LIST).await;
    templates.unwrap_or_default()
}

impl<'a> Lists<'a> {
    fn saved(server: &'a str, catalog: &SavedCatalog) -> Self {
        Self {
            server: Some(server),
            resources: catalog.items(method::RESOURCES_LIST),
            templates: catalog.items(method::RESOURCES_TEMPLATES_LIST),
        }
    }
}

fn print(lists: &[Lists<'_>], json: bool) -> Result<(), CommandError> {
    if json {
        let join = |items: for<'l> fn(&'l Lists<'_>) -> &'l Vec<RawJson>| {
            let mut list = ArrayWriter::new();
            lists
                .iter()
                .flat_map(items)
                .for_each(|item| list.push(item));
            list.finish()
        };
        let object = ObjectWriter::new()
            .member("resources", &join(|lists| &lists.resources))
            .member("resourceTemplates", &join(|lists| &lists.templates));
        return Ok(output::json(&object.finish())?);
    }
    let mut rows = Vec::new();
    for lists in lists {
        for item in lists.resources.iter().chain(&lists.templates) {
            let uri = match text_of(item, "uri") {
                uri if uri.is_empty() => text_of(item, "uriTemplate"),
                uri => uri,
            };
            let uri = match lists.server {
                Some(server) => format!("mcp://{server}/{uri}"),
                None => uri,
            };
            let about = match first_line(item) {
                about if about.is_empty() => text_of(item, "name"),
                about => about,
            };
            rows.push((uri, about));
        }
    }
    present::rows(&rows)
}
