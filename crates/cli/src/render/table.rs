use super::line::{Line, Style};
use super::wrap::{cut_line, wrap};

/// Rows of cells under a header.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) header: Vec<Line>,
    pub(crate) rows: Vec<Vec<Line>>,
    /// Maximum lines of one cell; the rest of it is cut off.
    pub(crate) cell_lines: usize,
}

/// A table as lines, and the parts of it that did not fit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Drawn {
    pub(crate) lines: Vec<Line>,
    /// Number of columns that are shown, from the first.
    pub(crate) columns: usize,
    /// True if a cell was cut.
    pub(crate) is_cut: bool,
}

/// Columns of the space between two cells.
const GAP: usize = 2;
/// Minimum columns of a cell whose text is longer.
const MIN_CELL: usize = 8;

/// Draws a table of at most `width` columns. Cells are wrapped; columns for which there is no room are left out.
pub(crate) fn draw(table: &Table, width: usize) -> Drawn {
    let widths = widths(table, width);
    let mut drawn = Drawn {
        lines: Vec::new(),
        columns: widths.len(),
        is_cut: false,
    };
    let header: Vec<Line> = table.header.iter().map(bold).collect();
    if header.iter().any(|cell| !cell.is_empty()) {
        drawn.row(&header, &widths, table.cell_lines);
        let rules: Vec<Line> = widths
            .iter()
            .map(|width| Line::of(&"─".repeat(*width), Style::DIM))
            .collect();
        drawn.row(&rules, &widths, 1);
    }
    for row in &table.rows {
        drawn.row(row, &widths, table.cell_lines);
    }
    drawn
}

impl Drawn {
    fn row(&mut self, cells: &[Line], widths: &[usize], cell_lines: usize) {
        let mut wrapped: Vec<Vec<Line>> = Vec::with_capacity(widths.len());
        for (cell, width) in cells.iter().zip(widths) {
            let mut lines = wrap_cell(cell, *width);
            if lines.len() > cell_lines {
                self.is_cut = true;
                let more = lines.get(cell_lines).cloned().unwrap_or_default();
                lines.truncate(cell_lines);
                if let Some(last) = lines.last_mut() {
                    *last = cut_line(&last.clone().join(&more.add("…", Style::DIM)), *width);
                }
            }
            wrapped.push(lines);
        }
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        for at in 0..height {
            let mut line = Line::new();
            let mut start = 0;
            for (lines, width) in wrapped.iter().zip(widths) {
                if let Some(cell) = lines.get(at).filter(|cell| !cell.is_empty()) {
                    line = line.pad(start).join(cell);
                }
                start += width + GAP;
            }
            self.lines.push(line);
        }
    }
}

fn wrap_cell(cell: &Line, width: usize) -> Vec<Line> {
    match cell.width() <= width {
        true => vec![cell.clone()],
        false => wrap(cell, width, &Line::new(), &Line::new()),
    }
}

fn bold(line: &Line) -> Line {
    let mut bold = Line::new();
    for span in line.spans() {
        bold = bold.add(span.text(), span.style().with(Style::BOLD));
    }
    bold
}

/// The width of each column that is shown.
fn widths(table: &Table, width: usize) -> Vec<usize> {
    let columns = table.rows.iter().map(Vec::len).max().unwrap_or(0);
    let columns = columns.max(table.header.len());
    let rows = || table.rows.iter().chain([&table.header]);
    let natural: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = rows().filter_map(|row| row.get(column));
            cells.map(Line::width).max().unwrap_or(0).max(1)
        })
        .collect();
    let taken =
        |widths: &[usize]| widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
    let capped = |natural: &[usize], cap: usize| -> Vec<usize> {
        natural.iter().map(|width| (*width).min(cap)).collect()
    };
    // The first columns say the most; one is shown however narrow the terminal is.
    let mut shown = natural.as_slice();
    while shown.len() > 1 && taken(&capped(shown, MIN_CELL)) > width {
        shown = shown.split_last().map_or(shown, |(_, rest)| rest);
    }
    let cap = (MIN_CELL..=width)
        .rev()
        .find(|cap| taken(&capped(shown, *cap)) <= width);
    let mut widths = capped(shown, cap.unwrap_or(MIN_CELL));
    let mut spare = width.saturating_sub(taken(&widths));
    for (width, natural) in widths.iter_mut().zip(shown) {
        let more = (natural - *width).min(spare);
        *width += more;
        spare -= more;
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[&[&str]]) -> Table {
        let line = |text: &&str| Line::of(text, Style::PLAIN);
        let mut rows = rows.iter().map(|row| row.iter().map(line).collect());
        Table {
            header: rows.next().unwrap(),
            rows: rows.collect(),
            cell_lines: 2,
        }
    }

    fn text(drawn: &Drawn) -> String {
        let lines = drawn.lines.iter().map(|line| line.paint(false));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn columns_are_aligned_by_the_width_of_characters() {
        let drawn = draw(
            &table(&[&["name", "size"], &["漢字", "1"], &["b", "22"]]),
            40,
        );
        assert_eq!((drawn.columns, drawn.is_cut), (2, false));
        insta::assert_snapshot!(text(&drawn), @r"
        name  size
        ────  ────
        漢字  1
        b     22
        ");
    }

    #[test]
    fn wide_cells_are_wrapped_and_then_cut() {
        let long = "a rather long description of something that never ends";
        let drawn = draw(
            &table(&[&["name", "about"], &["first", long], &["second", "short"]]),
            30,
        );
        assert_eq!((drawn.columns, drawn.is_cut), (2, true));
        insta::assert_snapshot!(text(&drawn), @r"
        name    about
        ──────  ──────────────────────
        first   a rather long
                description of someth…
        second  short
        ");
    }

    #[test]
    fn columns_without_room_are_left_out() {
        let names: Vec<String> = (0..200).map(|n| format!("column {n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let drawn = draw(&table(&[&names, &names]), 40);
        assert_eq!(drawn.columns, 4);
        assert!(drawn.lines.iter().all(|line| line.width() <= 40));
    }
}
