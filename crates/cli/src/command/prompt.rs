use anyhow::anyhow;
use callgate_mcp::client::Client;
use callgate_mcp::wire::content::Role;
use callgate_mcp::wire::prompt::{GetPromptParams, GetPromptResult, Prompt};
use callgate_mcp::wire::{Map, RawJson, method};

use super::browse::{Browse, Named, no_servers};
use super::prompts::usage;
use crate::browse_args;
use crate::error::{CommandError, Exit};
use crate::output::argument;
use crate::render::line::{Color, Line, Style};
use crate::render::screen::Screen;
use crate::server_choice::{ToolWord, failed_in_use, not_connected, tool_choices, unknown_server};
use crate::suggestion::closest;
use crate::target::User;
use crate::{output, present};

/// Prints the messages of a prompt.
pub(crate) async fn run(
    args: &browse_args::Prompt,
    browse: Browse<'_>,
) -> Result<(), CommandError> {
    let user = User::of_this_process();
    let (url, rest) = match browse.named(&args.words) {
        Named::Given(url, rest) => (url, rest),
        Named::Configured(word, words) => return run_configured(word, words, browse).await,
        Named::Nothing => return Err(no_servers()),
    };
    let place = browse.place(url);
    let Some((name, words)) = rest.split_first() else {
        return Err(CommandError::usage("no prompt is given").hint(see_prompts(&place)));
    };
    let target = browse.connect(url, user).await?;
    let client = target.client.clone();
    let work = async {
        let prompts = client.list_prompts().await?;
        let prompt = prompts.iter().find(|prompt| prompt.name == *name);
        let known: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
        let prompt = prompt.ok_or_else(|| unknown_prompt("the server", name, &known, &place))?;
        let arguments = arguments(prompt, words)?;
        print(&fill_in(&client, name, arguments).await?, browse.json)
    };
    target.finish(work).await
}

/// Prints a prompt of a configured server, of which only this one is connected.
async fn run_configured(
    word: &str,
    words: &[String],
    browse: Browse<'_>,
) -> Result<(), CommandError> {
    let configuration = browse.configuration()?;
    let word = word.strip_prefix('/').unwrap_or(word);
    let choices = tool_choices(word, &configuration);
    let named = choices.iter().find_map(|choice| match choice.tool {
        ToolWord::Own(prompt) => Some((choice.server, prompt)),
        ToolWord::Exposed(_) => None,
    });
    let Some((server, name)) = named else {
        return Err(match configuration.server(word) {
            Some(_) => {
                let hint = format!("write it as `callgate prompt {}:PROMPT`", argument(word));
                CommandError::usage("no prompt is given").hint(hint)
            }
            None => unknown_server(word, &configuration),
        });
    };
    let target = browse.open(server, User::of_this_process()).await?;
    let client = target.client.clone();
    let report = target.report(server.name.as_str());
    let work = async {
        not_connected(server.name.as_str(), report.await?)?;
        // The gateway puts the name of the server in front.
        let prefix = format!("{}:", server.name);
        let exposed = format!("{prefix}{name}");
        let prompts = client.list_prompts().await?;
        let own = prompts
            .iter()
            .filter_map(|it| it.name.strip_prefix(&prefix));
        let known: Vec<&str> = own.collect();
        let place = argument(server.name.as_str());
        let found = prompts.iter().find(|prompt| prompt.name == exposed);
        let named = format!("server `{}`", server.name);
        let prompt = found.ok_or_else(|| unknown_prompt(&named, name, &known, &place))?;
        let arguments = arguments(prompt, words)?;
        let result = fill_in(&client, &exposed, arguments).await;
        let result = result.map_err(|error| failed_in_use(server.name.as_str(), error))?;
        print(&result, browse.json)
    };
    target.finish(work).await
}

fn see_prompts(place: &str) -> String {
    format!("run `callgate prompts {place}` to see the prompts of the server")
}

fn unknown_prompt(server: &str, name: &str, known: &[&str], place: &str) -> CommandError {
    let error = CommandError::new(Exit::ToolFailed, anyhow!("{server} has no prompt `{name}`"));
    match closest(name, known) {
        Some(close) => error.hint(format!("did you mean `{close}`?")),
        None => error.hint(see_prompts(place)),
    }
}

async fn fill_in(
    client: &Client,
    name: &str,
    arguments: Map<String>,
) -> Result<RawJson, CommandError> {
    let mut params = GetPromptParams::new(name);
    params.arguments = (!arguments.is_empty()).then_some(arguments);
    Ok(client.request(method::PROMPTS_GET, &params).await?)
}

/// The arguments of a prompt: `key=value` for a key that it has, and other words in the order of its arguments.
fn arguments(prompt: &Prompt, words: &[String]) -> Result<Map<String>, CommandError> {
    let known: Vec<_> = prompt.arguments.iter().flatten().collect();
    let mistake = |message: String| {
        CommandError::usage(message).hint(format!("write it as: {}", usage(prompt)))
    };
    let named = |word: &'_ str| -> Option<(String, String)> {
        let (key, value) = word.split_once('=')?;
        let is_known = known.iter().any(|argument| argument.name == key);
        is_known.then(|| (key.to_owned(), value.to_owned()))
    };
    let mut given: Vec<(String, String)> = words.iter().filter_map(|word| named(word)).collect();
    for word in words.iter().filter(|word| named(word).is_none()) {
        let is_given = |name: &str| given.iter().any(|(key, _)| key == name);
        let Some(next) = known.iter().find(|argument| !is_given(&argument.name)) else {
            return Err(mistake(format!(
                "`{word}` is one argument too many for the prompt `{}`",
                prompt.name
            )));
        };
        given.push((next.name.clone(), word.clone()));
    }
    for argument in &known {
        let count = given
            .iter()
            .filter(|(key, _)| *key == argument.name)
            .count();
        if count > 1 {
            return Err(mistake(format!(
                "the argument `{}` is given twice",
                argument.name
            )));
        }
        if count == 0 && argument.required == Some(true) {
            return Err(mistake(format!(
                "the prompt `{}` needs the argument `{}`",
                prompt.name, argument.name
            )));
        }
    }
    Ok(given.into_iter().collect())
}

/// Prints the messages, each under its role on a terminal; a program gets their text alone.
fn print(raw: &RawJson, json: bool) -> Result<(), CommandError> {
    if json {
        return Ok(output::json(raw)?);
    }
    let result: GetPromptResult = raw.decode().map_err(anyhow::Error::from)?;
    let screen = Screen::of_stdout();
    for (number, message) in result.messages.iter().enumerate() {
        if number > 0 {
            output::text("")?;
        }
        if let Some(screen) = &screen {
            let (role, color) = match message.role {
                Role::User => ("user", Color::Blue),
                Role::Assistant => ("assistant", Color::Green),
            };
            let heading = Line::of(role, Style::BOLD.with(Style::color(color)));
            output::lines(&[heading], screen)?;
        }
        present::blocks(std::slice::from_ref(&message.content))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_mcp::wire::prompt::PromptArgument;

    fn check(words: &[&str], expect: Result<&[(&str, &str)], &str>) {
        let prompt = Prompt::new("review", "").with_arguments(vec![
            PromptArgument::required("file", ""),
            PromptArgument::optional("style", ""),
        ]);
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let seen = arguments(&prompt, &words).map_err(|error| error.with_hints());
        let expect: Result<Map<String>, String> = expect
            .map(|pairs| {
                pairs
                    .iter()
                    .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                    .collect()
            })
            .map_err(|text| format!("{text}\nhint: write it as: review <file> [style]"));
        assert_eq!(seen, expect, "{words:?}");
    }

    #[test]
    fn arguments_are_named_or_in_order() {
        check(&["a.rs"], Ok(&[("file", "a.rs")]));
        check(
            &["a.rs", "short"],
            Ok(&[("file", "a.rs"), ("style", "short")]),
        );
        check(
            &["style=short", "a.rs"],
            Ok(&[("style", "short"), ("file", "a.rs")]),
        );
        check(&["x=y"], Ok(&[("file", "x=y")]));
        check(&[], Err("the prompt `review` needs the argument `file`"));
        check(
            &["a", "b", "c"],
            Err("`c` is one argument too many for the prompt `review`"),
        );
        check(
            &["file=a", "file=b"],
            Err("the argument `file` is given twice"),
        );
    }
}
