use unicode_width::UnicodeWidthChar;

use super::line::{Line, Span, Style, width};

/// The line in lines of at most `limit` columns, broken at spaces where there are some.
///
/// The first line begins with `first` and the others with `rest`, which count as columns.
pub(crate) fn wrap(line: &Line, limit: usize, first: &Line, rest: &Line) -> Vec<Line> {
    let mut wrapped = Wrapped {
        // Room for text stays even if the beginnings alone are wider.
        limit: limit.max(first.width().max(rest.width()) + MIN_TEXT),
        lines: Vec::new(),
        current: first.clone(),
        used: first.width(),
        start: first.width(),
        rest,
    };
    for span in line.spans() {
        for piece in pieces(span.text()) {
            wrapped.add(span, piece);
        }
    }
    wrapped.end_line();
    wrapped.lines
}

/// The line in at most `limit` columns, with a mark if something was cut off.
pub(crate) fn cut_line(line: &Line, limit: usize) -> Line {
    if line.width() <= limit {
        return line.clone();
    }
    let mut cut = Line::new();
    let mut room = limit.saturating_sub(1);
    for span in line.spans() {
        let (part, used) = prefix(span.text(), room);
        cut.push(span.part(part));
        room -= used;
        if part.len() < span.text().len() {
            break;
        }
    }
    cut.add("…", Style::DIM)
}

/// Minimum columns of text beside an indent.
const MIN_TEXT: usize = 8;

struct Wrapped<'a> {
    limit: usize,
    lines: Vec<Line>,
    current: Line,
    used: usize,
    /// Columns of the indent of the current line.
    start: usize,
    rest: &'a Line,
}

impl Wrapped<'_> {
    /// Adds a word or a run of spaces.
    fn add(&mut self, span: &Span, piece: &str) {
        let columns = width(piece);
        let is_space = piece.starts_with(' ');
        if self.used + columns <= self.limit {
            // A line does not begin with the spaces at which it was broken.
            if !(is_space && self.used == self.start && !self.lines.is_empty()) {
                self.current.push(span.part(piece));
                self.used += columns;
            }
            return;
        }
        if is_space {
            self.end_line();
            return;
        }
        if self.used > self.start {
            self.end_line();
        }
        let mut word = piece;
        let mut columns = columns;
        while self.used + columns > self.limit {
            let (part, _) = prefix(word, self.limit - self.used);
            // A character that is wider than the line stands in a line of its own.
            let first = word.chars().next().map_or(0, char::len_utf8);
            let (part, left) = word.split_at(part.len().max(first));
            self.current.push(span.part(part));
            word = left;
            if word.is_empty() {
                self.used = self.limit;
                return;
            }
            columns = columns.saturating_sub(width(part));
            self.end_line();
        }
        self.current.push(span.part(word));
        self.used += columns;
    }

    fn end_line(&mut self) {
        let line = std::mem::replace(&mut self.current, self.rest.clone());
        self.lines.push(line);
        self.start = self.rest.width();
        self.used = self.start;
    }
}

/// Words and runs of spaces, in order.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = rest.find(|c| (c == ' ') != (first == ' '));
        let (piece, left) = rest.split_at(end.unwrap_or(rest.len()));
        rest = left;
        Some(piece)
    })
}

/// The longest beginning of a text that takes at most `limit` columns, and its columns.
fn prefix(text: &str, limit: usize) -> (&str, usize) {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        let columns = c.width().unwrap_or(0);
        if used + columns > limit {
            return (text.get(..at).unwrap_or_default(), used);
        }
        used += columns;
    }
    (text, used)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, limit: usize, expect: &[&str]) {
        let line = Line::of(text, Style::PLAIN);
        let indent = |text| Line::of(text, Style::PLAIN);
        let lines = wrap(&line, limit, &indent("- "), &indent("  "));
        let lines: Vec<String> = lines.iter().map(|line| line.paint(false)).collect();
        assert_eq!(lines, expect, "{text}");
    }

    #[test]
    fn lines_are_broken_at_spaces_and_long_words_anywhere() {
        check("", 12, &["-"]);
        check("one two  three", 12, &["- one two", "  three"]);
        check("0123456789abcdef", 12, &["- 0123456789", "  abcdef"]);
        check(
            "a 0123456789abcdef b",
            12,
            &["- a", "  0123456789", "  abcdef b"],
        );
        check("漢字漢字漢字", 12, &["- 漢字漢字漢", "  字"]);
        check("a   0123456789", 12, &["- a", "  0123456789"]);
        // No room at all: a few columns of text are kept.
        check("0123456789", 0, &["- 01234567", "  89"]);
    }

    #[test]
    fn a_line_of_a_megabyte_is_wrapped_in_one_pass() {
        let line = Line::of(&"x".repeat(1 << 20), Style::PLAIN);
        let lines = wrap(&line, 100, &Line::new(), &Line::new());
        assert_eq!(lines.len(), (1_usize << 20).div_ceil(100));
        assert!(lines.iter().all(|line| line.width() <= 100));
    }

    #[test]
    fn a_cut_line_has_a_mark() {
        let line = Line::of("bold", Style::BOLD).add(" and 漢字", Style::PLAIN);
        let cut = |limit| cut_line(&line, limit).paint(false);
        assert_eq!(
            [cut(13), cut(12), cut(5), cut(1)],
            ["bold and 漢字", "bold and 漢…", "bold…", "…"]
        );
    }
}
