use super::line::{Line, Style};
use super::screen::Screen;
use super::wrap::{cut_line, wrap};

/// Maximum width of a column but the last. A longer text moves the rest of its own row.
const MAX_COLUMN: usize = 40;
/// Maximum width of a cell, with the mark of one that is cut.
const MAX_CELL: usize = 501;
/// Minimum width of a wrapped last cell. In a narrower terminal it is below its row.
const MIN_LAST: usize = 24;
/// Indent of a last cell that is below its row.
const INDENT: usize = 4;

/// Rows with aligned columns.
///
/// The last cell of a row, the one with a long text, is wrapped to the screen. Without a screen each row is one
/// line, for programs such as `grep`.
pub(crate) fn columns(rows: &[Vec<Line>], screen: Option<&Screen>) -> Vec<Line> {
    let rows: Vec<Vec<Line>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| cut_line(cell, MAX_CELL)).collect())
        .collect();
    let mut widths: Vec<usize> = Vec::new();
    for row in &rows {
        for (column, cell) in row.iter().enumerate() {
            let width = cell.width().min(MAX_COLUMN);
            match widths.get_mut(column) {
                Some(widest) => *widest = width.max(*widest),
                None => widths.push(width),
            }
        }
    }
    let rows = rows.iter();
    rows.flat_map(|row| row_lines(row, &widths, screen))
        .collect()
}

fn row_lines(row: &[Line], widths: &[usize], screen: Option<&Screen>) -> Vec<Line> {
    let filled = row.iter().rposition(|cell| !cell.is_empty());
    let filled = row.get(..filled.map_or(0, |last| last + 1));
    let Some((last, cells)) = filled.and_then(<[Line]>::split_last) else {
        return vec![Line::new()];
    };
    let mut begin = Line::new();
    let mut end = 0;
    for (cell, width) in cells.iter().zip(widths) {
        end = begin.width() + cell.width().max(*width) + 2;
        begin = begin.join(cell).pad(end);
    }
    match screen {
        Some(screen) if end + last.width() > screen.width => {
            if end + MIN_LAST <= screen.width {
                return wrap(last, screen.width, &begin, &Line::new().pad(end));
            }
            let indent = Line::new().pad(INDENT);
            let mut lines = vec![begin];
            lines.extend(wrap(last, screen.width, &indent, &indent));
            lines
        }
        _ => vec![begin.join(last)],
    }
}

/// A row of a name and a description.
pub(crate) fn pair(name: &str, about: &str) -> Vec<Line> {
    vec![plain(name), plain(about)]
}

/// A cell without a style.
pub(crate) fn plain(text: &str) -> Line {
    Line::of(text, Style::PLAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(width: Option<usize>, expected: &str) {
        let screen = width.map(|width| Screen {
            width,
            ..Screen::FILE
        });
        let rows = [
            vec![plain("NAME"), plain("STATUS"), plain("")],
            vec![
                plain("a"),
                plain("failed"),
                plain("the program was not found in any directory"),
            ],
            vec![plain("名前"), plain("connected")],
        ];
        let lines = columns(&rows, screen.as_ref());
        let lines: Vec<String> = lines.iter().map(|line| line.paint(false)).collect();
        assert_eq!(lines.join("\n"), expected);
    }

    #[test]
    fn a_row_is_one_line_for_a_program() {
        check(
            None,
            "NAME  STATUS\n\
             a     failed     the program was not found in any directory\n\
             名前  connected",
        );
    }

    #[test]
    fn a_long_last_cell_is_wrapped_in_its_column() {
        check(
            Some(42),
            "NAME  STATUS\n\
             a     failed     the program was not found\n\
             \u{20}                in any directory\n\
             名前  connected",
        );
    }

    #[test]
    fn in_a_narrow_terminal_it_is_below_its_row() {
        check(
            Some(30),
            "NAME  STATUS\n\
             a     failed\n\
             \u{20}   the program was not found\n\
             \u{20}   in any directory\n\
             名前  connected",
        );
    }
}
