use std::env;
use std::io::{IsTerminal, stdout};

/// Abilities of the terminal that standard output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Screen {
    /// Number of columns.
    pub(crate) width: usize,
    /// True if text may have styles and colors.
    pub(crate) styles: bool,
    /// Protocol for images, if the terminal has one.
    pub(crate) images: Option<ImageProtocol>,
}

/// Way to show an image on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImageProtocol {
    Kitty,
    Iterm,
    Sixel,
}

/// Columns of a terminal that does not tell its width.
const USUAL_WIDTH: usize = 80;
/// Minimum columns that lines are made for.
const MIN_WIDTH: usize = 20;
/// Maximum columns that lines are made for. Longer lines are hard to read.
const MAX_WIDTH: usize = 160;

impl Screen {
    /// Abilities of a file or a program, for text that is laid out for people.
    pub(crate) const FILE: Self = Self {
        width: 100,
        styles: false,
        images: None,
    };

    /// The terminal of this process; `None` if the output is for a program, which gets it as it came.
    pub(crate) fn of_stdout() -> Option<Self> {
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        Self::detect(variable, stdout().is_terminal(), columns())
    }

    /// The abilities that the environment tells. The terminal is not asked: an answer that comes late would
    /// be read by the shell as if it were typed.
    fn detect(
        variable: impl Fn(&str) -> Option<String>,
        is_terminal: bool,
        columns: Option<usize>,
    ) -> Option<Self> {
        let is_forced = variable("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        if !is_terminal && !is_forced {
            return None;
        }
        let term = variable("TERM");
        let is_dumb = term.as_deref().is_none_or(|term| term == "dumb");
        let no_color = variable("NO_COLOR").is_some();
        let columns = columns.or_else(|| variable("COLUMNS")?.parse().ok());
        let width = columns.filter(|columns| *columns > 0);
        Some(Self {
            width: width.unwrap_or(USUAL_WIDTH).clamp(MIN_WIDTH, MAX_WIDTH),
            styles: !no_color && (is_forced || !is_dumb),
            images: match is_terminal && !is_dumb {
                true => images(&variable, term.as_deref().unwrap_or_default()),
                false => None,
            },
        })
    }
}

/// The image protocol of a terminal.
fn images(variable: &impl Fn(&str) -> Option<String>, term: &str) -> Option<ImageProtocol> {
    if let Some(choice) = variable("CALLGATE_IMAGES") {
        return match choice.as_str() {
            "kitty" => Some(ImageProtocol::Kitty),
            "iterm" => Some(ImageProtocol::Iterm),
            "sixel" => Some(ImageProtocol::Sixel),
            _ => None,
        };
    }
    // A multiplexer does not pass on the sequences, whatever the terminal around it can do.
    if variable("TMUX").is_some() || variable("STY").is_some() {
        return None;
    }
    let program = variable("TERM_PROGRAM").unwrap_or_default();
    if variable("KITTY_WINDOW_ID").is_some()
        || term == "xterm-kitty"
        || term == "xterm-ghostty"
        || program == "ghostty"
    {
        return Some(ImageProtocol::Kitty);
    }
    if matches!(program.as_str(), "iTerm.app" | "WezTerm" | "mintty") {
        return Some(ImageProtocol::Iterm);
    }
    let is_sixel = term.starts_with("foot")
        || term.starts_with("mlterm")
        || term.starts_with("yaft")
        || term.contains("sixel")
        || variable("KONSOLE_VERSION").is_some();
    is_sixel.then_some(ImageProtocol::Sixel)
}

#[cfg(unix)]
fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stdout()).ok()?;
    Some(usize::from(size.ws_col))
}

#[cfg(not(unix))]
fn columns() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(environment: &[(&str, &str)], is_terminal: bool) -> Option<Screen> {
        let variable = |name: &str| {
            let found = environment.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Screen::detect(variable, is_terminal, None)
    }

    #[test]
    fn styles_follow_the_terminal_and_the_usual_variables() {
        for (environment, is_terminal, styles) in [
            (&[("TERM", "xterm")][..], true, Some(true)),
            (&[("TERM", "xterm")], false, None),
            (&[], true, Some(false)),
            (&[("TERM", "dumb")], true, Some(false)),
            (&[("TERM", "xterm"), ("NO_COLOR", "1")], true, Some(false)),
            (&[("CLICOLOR_FORCE", "1")], false, Some(true)),
            (&[("CLICOLOR_FORCE", "0")], false, None),
            (
                &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")],
                false,
                Some(false),
            ),
        ] {
            let seen = detect(environment, is_terminal);
            assert_eq!(seen.map(|screen| screen.styles), styles, "{environment:?}");
        }
    }

    #[test]
    fn images_need_a_terminal_that_is_known_to_show_them() {
        for (environment, images) in [
            (&[("TERM", "xterm-256color")][..], None),
            (&[("TERM", "xterm-kitty")], Some(ImageProtocol::Kitty)),
            (
                &[("TERM", "xterm"), ("TERM_PROGRAM", "WezTerm")],
                Some(ImageProtocol::Iterm),
            ),
            (&[("TERM", "foot")], Some(ImageProtocol::Sixel)),
            (&[("TERM", "xterm-kitty"), ("TMUX", "/a")], None),
            (&[("TERM", "xterm-kitty"), ("CALLGATE_IMAGES", "off")], None),
            (
                &[
                    ("TERM", "screen"),
                    ("TMUX", "/a"),
                    ("CALLGATE_IMAGES", "sixel"),
                ],
                Some(ImageProtocol::Sixel),
            ),
            (&[("TERM", "dumb"), ("CALLGATE_IMAGES", "sixel")], None),
        ] {
            let seen = detect(environment, true).and_then(|screen| screen.images);
            assert_eq!(seen, images, "{environment:?}");
        }
    }

    #[test]
    fn widths_are_bounded() {
        let width = |columns: &str| {
            let screen = detect(&[("COLUMNS", columns)], true);
            screen.map(|screen| screen.width)
        };
        assert_eq!(
            ["0", "1", "100", "9999", "x"].map(width),
            [80, 20, 100, 160, 80].map(Some)
        );
    }
}
