//! The configured server that a command names, and the errors if it cannot be used.

use anyhow::anyhow;

use crate::config::load::{Configuration, ConfiguredServer};
use crate::error::{CommandError, Exit};
use crate::gateway::{ServerReport, Status, ToolName};
use crate::output::argument;
use crate::suggestion::closest;

/// A tool that a command names, with the server that may have it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolChoice<'a> {
    pub(crate) server: &'a ConfiguredServer,
    /// The name of the tool, as its server or the configuration gives it, or as agents see it.
    pub(crate) tool: ToolWord<'a>,
}

/// Name of a tool on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolWord<'a> {
    /// The name of the server's own.
    Own(&'a str),
    /// The name that agents see.
    Exposed(&'a str),
}

/// Characters between the names of a server and a tool.
const SEPARATORS: [&str; 4] = ["/", "__", ".", ":"];

/// The tools that a word may mean, the most likely first.
pub(crate) fn tool_choices<'a>(
    word: &'a str,
    configuration: &'a Configuration,
) -> Vec<ToolChoice<'a>> {
    let mut choices = Vec::new();
    for server in &configuration.servers {
        let name = server.name.as_str();
        let rest = word.strip_prefix(name).unwrap_or_default();
        let mut tools = SEPARATORS.iter().filter_map(|it| rest.strip_prefix(it));
        if let Some(tool) = tools.find(|tool| !tool.is_empty()) {
            choices.push((name.len(), ToolWord::Own(tool), server));
        }
        if word.starts_with(&format!("{}_", exposed_part(name))) {
            choices.push((name.len(), ToolWord::Exposed(word), server));
        }
    }
    // A longer name fits better, and a separator better than a part of an id.
    choices.sort_by_key(|(length, tool, _)| {
        (
            std::cmp::Reverse(*length),
            matches!(tool, ToolWord::Exposed(_)),
        )
    });
    let choices = choices.into_iter();
    choices
        .map(|(_, tool, server)| ToolChoice { server, tool })
        .collect()
}

/// The name of a server in the ids of its tools.
fn exposed_part(name: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    name.chars()
        .map(|c| if is_safe(c) { c } else { '_' })
        .collect()
}

/// No server has this name.
pub(crate) fn unknown_server(word: &str, configuration: &Configuration) -> CommandError {
    let mut faulty = configuration.faulty.iter();
    if let Some(faulty) = faulty.find(|faulty| is_named(word, &faulty.name)) {
        return faulty.error();
    }
    let message = format!("`{word}` is neither a configured server nor an http(s) URL");
    let error = CommandError::usage(message);
    let names: Vec<&str> = configuration
        .servers
        .iter()
        .map(|server| server.name.as_str())
        .collect();
    let named = word.split(['/', '.', ':']).next().unwrap_or(word);
    match closest(named, &names) {
        Some(close) => error.hint(format!("did you mean `{close}`?")),
        None if looks_like_url(word) => error.hint("begin a URL with http:// or https://"),
        None => error.hint(
            "run `callgate list` to see the configured servers; begin a URL with http:// or https://, and for a server that is a command, use --stdio COMMAND",
        ),
    }
}

/// True if the word is the name of a server, or that of a tool of it.
fn is_named(word: &str, server: &str) -> bool {
    let rest = word.strip_prefix(server);
    rest.is_some_and(|rest| {
        rest.is_empty()
            || SEPARATORS
                .iter()
                .any(|separator| rest.starts_with(separator))
    })
}

fn looks_like_url(word: &str) -> bool {
    let host = word.split('/').next().unwrap_or_default();
    let is_port = |port: &str| !port.is_empty() && port.chars().all(|c| c.is_ascii_digit());
    host.contains('.') || host.rsplit_once(':').is_some_and(|(_, port)| is_port(port))
}

/// The tools of a server that is connected.
///
/// # Errors
/// It is not connected, for the reason in the error.
pub(crate) fn not_connected(
    server: &str,
    report: Option<ServerReport>,
) -> Result<Vec<ToolName>, CommandError> {
    let Some(report) = report else {
        let error = anyhow!("the running gateway has no server `{server}` any more");
        return Err(CommandError::new(Exit::Unreachable, error)
            .hint("pass --direct to connect in this process"));
    };
    let because = match &report.reason {
        Some(reason) => format!(": {reason}"),
        None => String::new(),
    };
    let name = argument(server);
    Err(match report.status {
        Status::Connected => return Ok(report.tool_names),
        Status::NeedsAuth => {
            let error = anyhow!("server `{server}` needs a login{because}");
            CommandError::new(Exit::LoginRequired, error)
                .hint(format!("log in: run `callgate auth {name}`"))
        }
        Status::NeedsClientRegistration => {
            let error = anyhow!("server `{server}` needs a client that is registered by hand");
            CommandError::new(Exit::LoginRequired, error).hint(format!(
                "register a client with the provider, and run `callgate auth {name} --client-id ID`"
            ))
        }
        Status::Disabled => CommandError::usage(format!("server `{server}` is disabled"))
            .hint(format!("run `callgate enable {name}`")),
        _ => {
            let error = match report.reason {
                // Most reasons name the server.
                Some(reason) if reason.contains(&format!("server `{server}`")) => anyhow!(reason),
                _ => anyhow!("server `{server}` cannot be used{because}"),
            };
            CommandError::new(Exit::Unreachable, error)
                .hint(format!("see its messages: run `callgate debug {name}`; see its definition: run `callgate get {name}`"))
        }
    })
}

/// The failure of a request to a server that was connected, with the server and the next step.
pub(crate) fn failed_in_use(server: &str, error: CommandError) -> CommandError {
    if error.exit() != Exit::Unreachable {
        return error;
    }
    let named = format!("server `{server}`");
    let error = match error.message_line().contains(&named) {
        true => error,
        false => error.context(named),
    };
    error.hint(format!(
        "see its messages: run `callgate debug {}`",
        argument(server)
    ))
}

#[cfg(test)]
mod tests {
    use callgate_mcp::{Error, Kind};

    use super::*;

    #[test]
    fn a_failed_request_names_its_server_and_the_next_step() {
        for (kind, text, expect) in [
            (
                Kind::Timeout,
                "tools/call got no answer for 2s",
                "server `s`: tools/call got no answer for 2s\nhint: wait longer with --timeout SECONDS\nhint: see its messages: run `callgate debug s`",
            ),
            (
                Kind::Closed,
                "server `s` exited",
                "server `s` exited\nhint: see its messages: run `callgate debug s`",
            ),
            (Kind::Rpc, "no such file", "no such file"),
        ] {
            let error = failed_in_use("s", Error::new(kind, text).into());
            assert_eq!(error.with_hints(), expect);
        }
    }

    fn check(word: &str, expect: &[(&str, ToolWord<'_>)]) {
        let mut configuration = Configuration::default();
        for name in ["git", "git_hub", "my.server", "a b"] {
            configuration.servers.push(ConfiguredServer::example(name));
        }
        let choices = tool_choices(word, &configuration);
        let found: Vec<_> = choices
            .iter()
            .map(|choice| (choice.server.name.as_str(), choice.tool))
            .collect();
        assert_eq!(found, expect, "{word}");
    }

    #[test]
    fn a_tool_is_named_in_many_ways() {
        use ToolWord::{Exposed, Own};
        for word in ["git/log", "git.log", "git:log"] {
            check(word, &[("git", Own("log"))]);
        }
        check(
            "git__log",
            &[("git", Own("log")), ("git", Exposed("git__log"))],
        );
        check("git_log", &[("git", Exposed("git_log"))]);
        check(
            "git_hub_x",
            &[
                ("git_hub", Exposed("git_hub_x")),
                ("git", Exposed("git_hub_x")),
            ],
        );
        check("my.server.x/y", &[("my.server", Own("x/y"))]);
        check("a b/t", &[("a b", Own("t"))]);
        check("a_b_t", &[("a b", Exposed("a_b_t"))]);
        check("git/", &[]);
        check("hg/log", &[]);
    }
}
