use callgate_hub::search::{SearchItem, search};
use callgate_mcp::wire::{ArrayWriter, ObjectWriter, RawJson, method};

use super::browse::{Browse, first_line, note_unknown, text_of};
use crate::browse_args::Search;
use crate::error::CommandError;
use crate::{output, present};

/// An item of a configured server, by the name that other commands take.
struct Found<'a> {
    kind: &'static str,
    server: &'a str,
    name: String,
    definition: RawJson,
}

/// Ranks tools, prompts and resources of all configured servers by words, without connecting to them.
pub(crate) fn run(args: &Search, browse: Browse<'_>) -> Result<(), CommandError> {
    let configuration = browse.configuration()?;
    if configuration.servers.is_empty() {
        return Err(CommandError::usage("no server is configured")
            .hint("add one with `callgate add NAME URL`, or find those of your clients with `callgate setup`"));
    }
    let (saved, unknown) = browse.all_saved(&configuration);
    let mut all = Vec::new();
    for (configured, catalog) in &saved {
        let server = configured.name.as_str();
        let mut add = |kind, name: &dyn Fn(&RawJson) -> String, items: Vec<RawJson>| {
            all.extend(items.into_iter().map(|definition| Found {
                kind,
                server,
                name: name(&definition),
                definition,
            }));
        };
        let tool = |item: &RawJson| format!("{server}/{}", text_of(item, "name"));
        let prompt = |item: &RawJson| format!("{server}:{}", text_of(item, "name"));
        let resource = |item: &RawJson| format!("mcp://{server}/{}", text_of(item, "uri"));
        let template = |item: &RawJson| format!("mcp://{server}/{}", text_of(item, "uriTemplate"));
        add("tool", &tool, catalog.tools(configured));
        add("prompt", &prompt, catalog.items(method::PROMPTS_LIST));
        add("resource", &resource, catalog.items(method::RESOURCES_LIST));
        add(
            "resourceTemplate",
            &template,
            catalog.items(method::RESOURCES_TEMPLATES_LIST),
        );
    }
    let items: Vec<SearchItem<'_>> = all
        .iter()
        .map(|found| SearchItem::new(found.server, &found.definition))
        .collect();
    let hits = search(&items, &args.words.join(" "), args.limit);
    let found: Vec<(&Found<'_>, f64)> = hits
        .iter()
        .filter_map(|hit| Some((all.get(hit.index)?, hit.score)))
        .collect();
    print(&found, browse.json)?;
    if found.is_empty() && !browse.json {
        output::note("nothing fits; try other words, or `callgate list` to see the servers");
    }
    note_unknown(&unknown);
    Ok(())
}

fn print(found: &[(&Found<'_>, f64)], json: bool) -> Result<(), CommandError> {
    if !json {
        let rows: Vec<_> = found
            .iter()
            .map(|(found, _)| (found.name.clone(), first_line(&found.definition)))
            .collect();
        return present::rows(&rows);
    }
    let mut list = ArrayWriter::new();
    for (found, score) in found {
        let score = RawJson::encode(score).map_err(anyhow::Error::from)?;
        let object = ObjectWriter::new()
            .member("kind", &RawJson::string(found.kind))
            .member("server", &RawJson::string(found.server))
            .member("name", &RawJson::string(&found.name))
            .member("score", &score)
            .member("definition", &found.definition);
        list.push(&object.finish());
    }
    Ok(output::json(&list.finish())?)
}
