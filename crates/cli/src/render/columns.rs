use super::line::{Line, Style};
use super::screen::Screen;
use super::wrap::{cut_line, wrap};

/// Maximum width of a column but the last. A longer text moves the rest of its own row.
const MAX_COLUMN: usize = 40;
/// Maximum width of a cell, with the mark of one that is cut.
const MAX_CELL: usize = 501;
/// Minimum width of a wrapped last cell. In a narrower terminal it is below its row.
const MIN_LAST: usize = 24;
/// Columns between two cells.
const GAP: usize = 2;
/// Indent of cells that are below their row.
const INDENT: usize = 4;

/// Rows with aligned columns.
///
/// The last cell of a row, the one with a long text, is wrapped to the screen, and cells for which the screen has no
/// room are below their row. Without a screen each row is one line, for programs such as `grep`.
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
    let limit = screen.map_or(usize::MAX, |screen| screen.width);
    rows.flat_map(|row| row_lines(row, &widths, limit))
        .collect()
}

/// The rows without those of the `dispensable` columns, the first one first, for which the screen has no room. The
/// last column does not count: it is wrapped.
pub(crate) fn without_columns(
    mut rows: Vec<Vec<Line>>,
    dispensable: &[usize],
    screen: Option<&Screen>,
) -> Vec<Vec<Line>> {
    let Some(screen) = screen else {
        return rows;
    };
    let mut widths: Vec<usize> = Vec::new();
    for row in &rows {
        for (column, cell) in row.iter().enumerate() {
            match widths.get_mut(column) {
                Some(widest) => *widest = cell.width().max(*widest),
                None => widths.push(cell.width()),
            }
        }
    }
    widths.pop();
    let mut width: usize = widths.iter().map(|width| width + GAP).sum();
    let mut dropped = Vec::new();
    for column in dispensable {
        if width <= screen.width + GAP {
            break;
        }
        width -= widths.get(*column).map_or(0, |width| width + GAP);
        dropped.push(*column);
    }
    for row in &mut rows {
        let mut column = 0..;
        row.retain(|_| {
            column
                .next()
                .is_none_or(|column| !dropped.contains(&column))
        });
    }
    rows
}

fn row_lines(row: &[Line], widths: &[usize], limit: usize) -> Vec<Line> {
    let filled = row.iter().rposition(|cell| !cell.is_empty());
    let filled = row.get(..filled.map_or(0, |last| last + 1));
    let Some((last, cells)) = filled.and_then(<[Line]>::split_last) else {
        return vec![Line::new()];
    };
    let indent = Line::new().pad(INDENT);
    let mut lines = Vec::new();
    let mut begin = Line::new();
    let mut end = 0;
    for (cell, width) in cells.iter().zip(widths) {
        let width = cell.width().max(*width);
        if end > INDENT && end + width > limit {
            lines.push(begin);
            (begin, end) = (indent.clone(), INDENT);
        }
        if end + cell.width() > limit {
            let mut wrapped = wrap(cell, limit, &begin.pad(end), &indent);
            begin = wrapped.pop().unwrap_or_default();
            lines.extend(wrapped);
            end = limit;
            continue;
        }
        begin = begin.pad(end).join(cell);
        end += width + GAP;
    }
    // A short cell of a wide column goes where the others of its column are.
    let is_last_column = cells.len() + 1 == widths.len();
    let width = match widths.get(cells.len()) {
        Some(width) if !is_last_column => last.width().max(*width),
        _ => last.width(),
    };
    if end + width <= limit {
        lines.push(begin.pad(end).join(last));
    } else if is_last_column && end + MIN_LAST <= limit {
        lines.extend(wrap(last, limit, &begin.pad(end), &Line::new().pad(end)));
    } else if cells.is_empty() {
        lines.extend(wrap(last, limit, &Line::new(), &indent));
    } else {
        lines.push(begin);
        lines.extend(wrap(last, limit, &indent, &indent));
    }
    lines
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

    #[test]
    fn a_row_that_is_wider_than_the_terminal_goes_on_below() {
        let screen = Screen {
            width: 24,
            ..Screen::FILE
        };
        let row = |cells: [&str; 4]| cells.map(plain).to_vec();
        let rows = [
            row(["NAME", "STATUS", "TRANSPORT", ""]),
            row(["files", "connected", "stdio", "as of 3 minutes ago"]),
            row(["web", "idle", "http", ""]),
        ];
        let lines = columns(&rows, Some(&screen));
        let lines: Vec<String> = lines.iter().map(|line| line.paint(false)).collect();
        let expected = [
            "NAME   STATUS",
            "    TRANSPORT",
            "files  connected",
            "    stdio",
            "    as of 3 minutes ago",
            "web    idle",
            "    http",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn columns_without_room_are_left_out_in_the_order_of_the_caller() {
        let rows = vec![
            ["NAME", "STATUS", "TOOLS", "LATENCY", ""]
                .map(plain)
                .to_vec(),
            ["a", "connected", "3", "12 ms", "a reason"]
                .map(plain)
                .to_vec(),
        ];
        let check = |width: usize, expected: &str| {
            let screen = Screen {
                width,
                ..Screen::FILE
            };
            let rows = without_columns(rows.clone(), &[3, 2], Some(&screen));
            let headings: Vec<String> = rows[0].iter().map(|cell| cell.paint(false)).collect();
            assert_eq!(headings.join(" ").trim_end(), expected, "{width}");
        };
        check(31, "NAME STATUS TOOLS LATENCY");
        check(30, "NAME STATUS TOOLS");
        check(22, "NAME STATUS TOOLS");
        check(21, "NAME STATUS");
        check(4, "NAME STATUS");
    }

    #[test]
    fn a_long_name_is_wrapped_and_what_follows_is_below() {
        let screen = Screen {
            width: 12,
            ..Screen::FILE
        };
        let rows = [vec![plain("a-name-of-18-chars"), plain("about it")]];
        let lines = columns(&rows, Some(&screen));
        let lines: Vec<String> = lines.iter().map(|line| line.paint(false)).collect();
        assert_eq!(lines, ["a-name-of-18", "    -chars", "    about it"]);
    }
}
