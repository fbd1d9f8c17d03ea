//! Tables and numbers in Markdown.

use std::fmt::{self, Write};

/// A table that grows row by row.
#[derive(Debug)]
pub(super) struct Table(String);

impl Table {
    /// Begins a table whose columns hold numbers after the first `text_columns`.
    pub(super) fn new(columns: &[&str], text_columns: usize) -> Self {
        let rule = |index| if index < text_columns { "---" } else { "--:" };
        let rules: Vec<_> = (0..columns.len()).map(rule).collect();
        Self(format!(
            "| {} |\n| {} |\n",
            columns.join(" | "),
            rules.join(" | ")
        ))
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: &[String]) {
        writeln!(self.0, "| {} |", cells.join(" | ")).expect("a string takes every write");
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Writes a ratio with two decimals.
pub(super) fn ratio(value: f64) -> String {
    format!("{value:.2}")
}

/// Rounds to an integer and groups its digits by thousands.
pub(super) fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.max(0.0));
    let mut text = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_aligns_its_numbers_to_the_right() {
        let mut table = Table::new(&["server", "requests/s"], 1);
        table.row(&["bare".to_owned(), "7".to_owned()]);
        assert_eq!(
            table.to_string(),
            "| server | requests/s |\n| --- | --: |\n| bare | 7 |\n"
        );
    }

    #[test]
    fn digits_are_grouped_by_thousands() {
        let check = |value, expected: &str| assert_eq!(grouped(value), expected);
        check(0.0, "0");
        check(999.4, "999");
        check(999.5, "1,000");
        check(1_234_567.0, "1,234,567");
    }
}
