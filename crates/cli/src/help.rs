use std::ffi::OsString;

use clap::{Command, CommandFactory, FromArgMatches};

use crate::args::Cli;
use crate::render::screen::Screen;

/// Minimum columns that help is made for: with less, the text beside an option has one word in each line.
const MIN_WIDTH: usize = 64;

/// Groups of commands in the help, in the order of their use.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Use servers",
        &[
            "list",
            "inspect",
            "call",
            "prompts",
            "prompt",
            "resources",
            "read",
            "search",
        ],
    ),
    (
        "Configure servers",
        &[
            "setup", "add", "add-json", "get", "remove", "enable", "disable", "import", "config",
        ],
    ),
    ("Log in", &["auth", "logout"]),
    (
        "Serve agents",
        &[
            "serve",
            "relay",
            "connect",
            "disconnect",
            "service",
            "ps",
            "token",
        ],
    ),
    (
        "Find out more",
        &["doctor", "debug", "completions", "man", "help"],
    ),
];

/// Parses a command line.
pub(crate) fn parse(words: Vec<OsString>) -> Result<Cli, clap::Error> {
    let matches = command().try_get_matches_from(words)?;
    Cli::from_arg_matches(&matches)
}

/// The command line, with its commands in groups.
pub(crate) fn command() -> Command {
    let mut command = Cli::command();
    // The command `help` is added by this.
    command.build();
    let groups = groups(&command);
    let command = Cli::command().help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}"
    ));
    match Screen::of_stdout() {
        Some(screen) => command.term_width(screen.width.max(MIN_WIDTH)),
        None => command,
    }
}

fn groups(command: &Command) -> String {
    let shown = |name: &&str| {
        let found = command.find_subcommand(name);
        found.filter(|found| !found.is_hide_set())
    };
    let width = command
        .get_subcommands()
        .map(|it| it.get_name().len())
        .max();
    let width = width.unwrap_or(0);
    let mut text = String::new();
    for (title, names) in GROUPS {
        let rows: Vec<String> = names
            .iter()
            .filter_map(shown)
            .map(|command| {
                let about = command.get_about().map(ToString::to_string);
                format!(
                    "  {:width$}  {}\n",
                    command.get_name(),
                    about.unwrap_or_default()
                )
            })
            .collect();
        if !rows.is_empty() {
            text.push_str(&format!("{title}:\n{}\n", rows.concat()));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut command = Cli::command();
        command.build();
        Cli::command().debug_assert();
        let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
        for command in shown {
            let name = command.get_name();
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&name));
            assert_eq!(groups.count(), 1, "{name}");
        }
    }
}
