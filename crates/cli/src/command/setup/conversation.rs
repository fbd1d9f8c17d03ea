use std::io::{self, BufRead, IsTerminal};

use crate::error::CommandError;
use crate::output;
use crate::render::line::{Line, Style};
use crate::setup_args::Setup;

/// Way in which `setup` gets its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The user answers at the terminal.
    Ask,
    /// All answers are yes.
    Yes,
    /// All answers are no: nothing is written.
    Dry,
}

/// Questions to the user, and the text around them.
#[derive(Debug)]
pub(super) struct Conversation {
    mode: Mode,
    json: bool,
}

/// Maximum number of times that a question is asked.
const ATTEMPTS: u32 = 3;

impl Conversation {
    /// Without a terminal the command line has to say which answers to take.
    pub(super) fn new(args: &Setup, json: bool) -> Result<Self, CommandError> {
        let has_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
        let mode = match (args.yes, args.dry_run) {
            (_, true) => Mode::Dry,
            (true, false) => Mode::Yes,
            (false, false) if has_terminal && !json => Mode::Ask,
            (false, false) => {
                let message = "`setup` asks before each step, and there is no terminal to ask on";
                return Err(CommandError::usage(message)
                    .hint("run `callgate setup --dry-run` to see the steps")
                    .hint("run `callgate setup --yes` to do them without questions"));
            }
        };
        Ok(Self { mode, json })
    }

    /// Tells the user what comes.
    pub(super) fn begin(&self) {
        if self.mode == Mode::Ask {
            output::note("Nothing is written before your yes to a step. Enter means yes.");
            output::note("\n");
        }
    }

    /// True if nothing is written.
    pub(super) fn is_dry(&self) -> bool {
        self.mode == Mode::Dry
    }

    /// True if the report is for a program.
    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints a line for the user.
    pub(super) fn say(&self, text: &str) -> Result<(), CommandError> {
        match self.json {
            true => Ok(()),
            false => Ok(output::text(text)?),
        }
    }

    /// Prints the heading of a step.
    pub(super) fn heading(&self, text: &str) -> Result<(), CommandError> {
        match self.json {
            true => Ok(()),
            false => Ok(output::columns(&[vec![Line::of(text, Style::BOLD)]])?),
        }
    }

    /// Asks a question whose answer is yes if the user only presses Enter. The end of the input is a no.
    pub(super) fn agrees(&self, question: &str) -> Result<bool, CommandError> {
        match self.mode {
            Mode::Yes => return Ok(true),
            Mode::Dry => return Ok(false),
            Mode::Ask => {}
        }
        for _ in 0..ATTEMPTS {
            output::prompt(&format!("{question} [Y/n] "));
            let mut line = String::new();
            if io::stdin().lock().read_line(&mut line)? == 0 {
                output::note("");
                return Ok(false);
            }
            match line.trim().to_ascii_lowercase().as_str() {
                "" | "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => output::note("answer with y or n, or press Enter for yes"),
            }
        }
        Ok(false)
    }
}
