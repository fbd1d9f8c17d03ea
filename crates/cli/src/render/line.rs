use unicode_width::UnicodeWidthStr;

use crate::visible::visible_line;

/// One line of a terminal, as pieces of text with a style.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line(Vec<Span>);

/// Text of one style. It holds no control character: [`Span::new`] is the only way to make one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    text: String,
    style: Style,
}

/// Appearance of text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Style {
    bold: bool,
    dim: bool,
    italic: bool,
    underlined: bool,
    struck: bool,
    color: Option<Color>,
}

/// Colors of the palette of the terminal, which fit its background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Color {
    Red = 31,
    Green = 32,
    Yellow = 33,
    Blue = 34,
    Cyan = 36,
}

/// End of all styles.
const RESET: &str = "\u{1b}[0m";

impl Style {
    pub(crate) const PLAIN: Self = Self {
        bold: false,
        dim: false,
        italic: false,
        underlined: false,
        struck: false,
        color: None,
    };
    pub(crate) const BOLD: Self = Self {
        bold: true,
        ..Self::PLAIN
    };
    pub(crate) const DIM: Self = Self {
        dim: true,
        ..Self::PLAIN
    };
    pub(crate) const ITALIC: Self = Self {
        italic: true,
        ..Self::PLAIN
    };
    pub(crate) const UNDERLINED: Self = Self {
        underlined: true,
        ..Self::PLAIN
    };
    pub(crate) const STRUCK: Self = Self {
        struck: true,
        ..Self::PLAIN
    };

    pub(crate) const fn color(color: Color) -> Self {
        Self {
            color: Some(color),
            ..Self::PLAIN
        }
    }

    /// This style with everything that `other` adds.
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            bold: self.bold || other.bold,
            dim: self.dim || other.dim,
            italic: self.italic || other.italic,
            underlined: self.underlined || other.underlined,
            struck: self.struck || other.struck,
            color: other.color.or(self.color),
        }
    }

    /// The escape sequence that begins this style; empty for plain text.
    fn begin(self) -> String {
        let switches = [
            (self.bold, 1),
            (self.dim, 2),
            (self.italic, 3),
            (self.underlined, 4),
            (self.struck, 9),
        ];
        let switches = switches.iter().filter(|(is_on, _)| *is_on);
        let mut codes: Vec<String> = switches.map(|(_, code)| code.to_string()).collect();
        codes.extend(self.color.map(|color| (color as u8).to_string()));
        match codes.is_empty() {
            true => String::new(),
            false => format!("\u{1b}[{}m", codes.join(";")),
        }
    }
}

impl Span {
    /// The text in its visible form; a tab becomes spaces.
    pub(crate) fn new(text: &str, style: Style) -> Self {
        Self {
            text: visible_line(&text.replace('\t', "    ")),
            style,
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn style(&self) -> Style {
        self.style
    }

    /// A part of the text of this one in the same style.
    pub(super) fn part(&self, text: &str) -> Self {
        Self {
            text: text.to_owned(),
            style: self.style,
        }
    }
}

impl Line {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A line of one style.
    pub(crate) fn of(text: &str, style: Style) -> Self {
        Self::new().add(text, style)
    }

    /// The line with more text at its end.
    #[must_use]
    pub(crate) fn add(mut self, text: &str, style: Style) -> Self {
        self.push(Span::new(text, style));
        self
    }

    /// The line with `other` at its end.
    #[must_use]
    pub(crate) fn join(mut self, other: &Line) -> Self {
        for span in &other.0 {
            self.push(span.clone());
        }
        self
    }

    /// The line with spaces at its end up to `width`.
    #[must_use]
    pub(crate) fn pad(self, width: usize) -> Self {
        match width.saturating_sub(self.width()) {
            0 => self,
            missing => self.add(&" ".repeat(missing), Style::PLAIN),
        }
    }

    pub(crate) fn push(&mut self, span: Span) {
        match self.0.last_mut() {
            Some(last) if last.style == span.style => last.text.push_str(&span.text),
            _ if span.text.is_empty() => {}
            _ => self.0.push(span),
        }
    }

    pub(crate) fn spans(&self) -> &[Span] {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of columns that the line takes.
    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(|span| width(&span.text)).sum()
    }

    /// The text of the line, with the escape sequences of its styles if there are `styles`.
    pub(crate) fn paint(&self, styles: bool) -> String {
        let mut painted = String::new();
        for span in &self.0 {
            let begin = match styles {
                true => span.style.begin(),
                false => String::new(),
            };
            let end = if begin.is_empty() { "" } else { RESET };
            painted.push_str(&begin);
            painted.push_str(&span.text);
            painted.push_str(end);
        }
        match styles {
            true => painted,
            false => painted.trim_end().to_owned(),
        }
    }
}

/// Number of columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_are_the_only_escape_sequences() {
        let line = Line::of("a\u{1b}[31m\u{9b}2J\n", Style::BOLD)
            .add("\tb", Style::color(Color::Cyan).with(Style::ITALIC))
            .add("\u{202e}", Style::PLAIN);
        assert_eq!(
            line.paint(true),
            "\u{1b}[1ma\\u{1b}[31m\\u{9b}2J\\u{a}\u{1b}[0m\u{1b}[3;36m    b\u{1b}[0m\\u{202e}"
        );
        assert_eq!(
            line.paint(false),
            "a\\u{1b}[31m\\u{9b}2J\\u{a}    b\\u{202e}"
        );
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let line = Line::of("漢字", Style::PLAIN).add("é", Style::BOLD).pad(8);
        assert_eq!((line.width(), line.paint(false)), (8, "漢字é".to_owned()));
    }
}
