use std::path::Path;

use callgate_mcp::wire::prompt::Prompt;
use callgate_mcp::wire::{ArrayWriter, RawJson, method};

use crate::browse_args::Prompts;
use crate::error::CommandError;
use crate::target::{Target, User};
use crate::{output, present};

/// Lists the prompts of a server.
pub(crate) async fn run(
    args: &Prompts,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let url = args.server.as_deref();
    let target = Target::connect(&args.connection, url, data_dir, User::Away)?;
    let client = target.client.clone();
    let work = async { print(&client.list_raw(method::PROMPTS_LIST).await?, json) };
    target.finish(work).await
}

fn print(prompts: &[RawJson], json: bool) -> Result<(), CommandError> {
    if json {
        let mut list = ArrayWriter::new();
        prompts.iter().for_each(|prompt| list.push(prompt));
        return Ok(output::json(&list.finish())?);
    }
    let mut rows = Vec::new();
    for raw in prompts {
        let prompt: Prompt = raw.decode().map_err(anyhow::Error::from)?;
        rows.push((usage(&prompt), super::list::first_line(raw)));
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
