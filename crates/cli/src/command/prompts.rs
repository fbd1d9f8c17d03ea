use callgate_mcp::wire::prompt::Prompt;
use callgate_mcp::wire::{ArrayWriter, RawJson, method};

use super::browse::{Browse, Named, first_line, no_servers, note_unknown};
use crate::browse_args::Prompts;
use crate::error::CommandError;
use crate::server_choice::unknown_server;
use crate::target::User;
use crate::{output, present};

/// Lists the prompts of a server, or of all configured servers.
pub(crate) async fn run(args: &Prompts, browse: Browse<'_>) -> Result<(), CommandError> {
    match browse.named(&args.server) {
        Named::Given(url, _) => {
            let target = browse.connect(url, User::Away).await?;
            let client = target.client.clone();
            let work = async {
                let prompts = client.list_raw(method::PROMPTS_LIST).await?;
                print(&[(None, prompts)], browse.json)
            };
            target.finish(work).await
        }
        Named::Configured(name, _) => {
            let configuration = browse.configuration()?;
            let server = configuration.server(name);
            let server = server.ok_or_else(|| unknown_server(name, &configuration))?;
            let offered = browse.offered(server).await?;
            let prompts = offered
                .catalog
                .map(|catalog| catalog.items(method::PROMPTS_LIST));
            print(&[(Some(name), prompts.unwrap_or_default())], browse.json)
        }
        Named::Nothing => {
            let configuration = browse.configuration()?;
            if configuration.servers.is_empty() {
                return Err(no_servers());
            }
            let (saved, unknown) = browse.all_saved(&configuration);
            let lists: Vec<_> = saved
                .iter()
                .map(|(server, catalog)| {
                    (
                        Some(server.name.as_str()),
                        catalog.items(method::PROMPTS_LIST),
                    )
                })
                .collect();
            print(&lists, browse.json)?;
            note_unknown(&unknown);
            Ok(())
        }
    }
}

fn print(lists: &[(Option<&str>, Vec<RawJson>)], json: bool) -> Result<(), CommandError> {
    if json {
        let mut list = ArrayWriter::new();
        let prompts = lists.iter().flat_map(|(_, prompts)| prompts);
        prompts.for_each(|prompt| list.push(prompt));
        return Ok(output::json(&list.finish())?);
    }
    let mut rows = Vec::new();
    for (server, prompts) in lists {
        for raw in prompts {
            let prompt: Prompt = raw.decode().map_err(anyhow::Error::from)?;
            let usage = match server {
                Some(server) => format!("{server}:{}", usage(&prompt)),
                None => usage(&prompt),
            };
            rows.push((usage, first_line(raw)));
        }
    }
    present::rows(&rows)
}

/// The prompt with its arguments, as a user writes them.
pub(super) fn usage(prompt: &Prompt) -> String {
    let mut words = vec![prompt.name.clone()];
    for argument in prompt.arguments.iter().flatten() {
        words.push(match argument.required {
            Some(true) => format!("<{}>", argument.name),
            _ => format!("[{}]", argument.name),
        });
    }
    words.join(" ")
}
