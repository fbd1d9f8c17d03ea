use std::io::{self, BufRead, IsTerminal, Read};
use std::thread;

use tokio::sync::oneshot;

use crate::output::{self, OpenPrompt};
use crate::visible::{cut, visible_line};

/// Maximum bytes of an answer.
const MAX_ANSWER: u64 = 64 * 1024;

/// The user's decision about a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Yes,
    Edit,
    No,
    /// The user went away: the word, or the end of the input.
    Cancel,
}

/// True if a user can be asked: questions go to standard error, answers come from standard input.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for one line, without its end; `None` at the end of the input.
///
/// Dropping the future ends the line of the question, and leaves a thread that waits for the terminal. It does not
/// delay the end of the process.
pub(super) async fn ask(question: &str) -> Option<String> {
    let prompt = OpenPrompt::new(question);
    let (answered, answer) = oneshot::channel();
    thread::spawn(move || {
        let mut line = Vec::new();
        let mut input = io::stdin().lock().take(MAX_ANSWER);
        let read = input.read_until(b'\n', &mut line);
        let line = read.ok().filter(|length| *length > 0).map(|_| line);
        let _ = answered.send(line);
    });
    let line = String::from_utf8_lossy(&answer.await.ok()??).into_owned();
    prompt.answered();
    Some(line.trim().to_owned())
}

/// Asks for a decision until the answer is one of `words` or its beginning. An empty answer means `usual`,
/// which is shown in capitals.
pub(super) async fn decide(
    question: &str,
    words: &[(&str, Decision)],
    usual: Option<Decision>,
) -> Decision {
    let name = |(word, decision): &(&str, Decision)| match Some(*decision) == usual {
        true => word.to_uppercase(),
        false => (*word).to_owned(),
    };
    let names: Vec<String> = words.iter().map(name).collect();
    loop {
        let Some(answer) = ask(&format!("{question} [{}] ", names.join("/"))).await else {
            return Decision::Cancel;
        };
        let answer = answer.to_lowercase();
        if let (true, Some(usual)) = (answer.is_empty(), usual) {
            return usual;
        }
        let found = words
            .iter()
            .find(|(word, _)| !answer.is_empty() && word.starts_with(&answer));
        match found {
            Some((_, decision)) => return *decision,
            None => output::note(&format!(
                "answer with one of: {}",
                names.join(", ").to_lowercase()
            )),
        }
    }
}

/// Prints text of the server, each line marked, so that none can pass for one of ours.
pub(super) fn quote(text: &str) {
    for line in text.trim().lines().take(MAX_LINES) {
        output::note(&format!("  | {}", visible_line(&cut(line, MAX_LINE))));
    }
}

/// Maximum lines of a text of the server.
const MAX_LINES: usize = 50;

/// Maximum characters of such a line.
const MAX_LINE: usize = 1000;
