use crate::args::ConnectionArgs;
use crate::output::argument;

/// The URL of the server, unless it is a command, and the words after it.
pub(super) fn split<'a>(
    connection: &ConnectionArgs,
    words: &'a [String],
) -> (Option<&'a str>, &'a [String]) {
    match words.split_first() {
        Some((url, rest)) if connection.server.stdio.is_none() => (Some(url), rest),
        _ => (None, words),
    }
}

/// The same server in another command.
pub(super) fn repeat(connection: &ConnectionArgs, url: Option<&str>) -> String {
    let server = &connection.server;
    let mut words = match (&server.stdio, url) {
        (Some(command), _) => format!("--stdio {}", argument(command)),
        (None, Some(url)) => argument(url),
        (None, None) => String::new(),
    };
    if let Some(account) = &server.account {
        words = format!("{words} --account {}", argument(account));
    }
    words
}
