use std::fmt;
use std::path::Path;

use crate::error::CommandError;
use crate::output;

/// Mistake in the text of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// Line, from 1.
    pub(crate) line: usize,
    /// Key with those that lead to it, such as `mcpServers.files.args[0]`; empty for the whole text.
    pub(crate) key: String,
    /// The key and the cause.
    pub(crate) message: String,
    /// The next step.
    pub(crate) hint: Option<String>,
}

/// One mistake or more, in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mistakes(pub(super) Vec<Mistake>);

impl Mistakes {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Mistake> {
        self.0.iter()
    }

    /// The error of a command that needs the file at `path`.
    pub(crate) fn in_file(&self, path: &Path) -> CommandError {
        let Some((first, more)) = self.0.split_first() else {
            return CommandError::usage(format!("{} has a mistake", path.display()));
        };
        let message = format!("{}:{}: {}", path.display(), first.line, first.message);
        let error = first.hint.iter().fold(
            CommandError::usage(match more.len() {
                0 => message,
                more => format!("{message} (and {more} more)"),
            }),
            CommandError::hint,
        );
        match more {
            [] => error,
            _ => error.hint(format!(
                "run `callgate config validate {}` to see all",
                output::argument(&path.to_string_lossy())
            )),
        }
    }

    /// The error about JSON that is not in a file, such as an argument of a command.
    pub(crate) fn in_text(&self) -> CommandError {
        let Some(first) = self.0.first() else {
            return CommandError::usage("the definition has a mistake");
        };
        let error = CommandError::usage(&first.message);
        match &first.hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

impl From<Mistake> for Mistakes {
    fn from(mistake: Mistake) -> Self {
        Self(vec![mistake])
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
