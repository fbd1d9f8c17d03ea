use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Outcome of one attack, as a row of the table.
pub(super) struct Row {
    pub(super) attack: &'static str,
    /// Outcome before the limits, measured by the same attack on an unoptimized build of that time.
    pub(super) before: &'static str,
    pub(super) outcome: String,
}

/// Comments between which the table is.
const BEGIN: &str = "<!-- attacks: written by `cargo xtask attack` -->";
const END: &str = "<!-- end of attacks -->";

/// Writes the table into the page.
pub(super) fn write(page: &Path, table: &str) -> Result<()> {
    let text =
        fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
    let text = replaced(&text, table).context("the page has no place for the table")?;
    fs::write(page, text).with_context(|| format!("cannot write {}", page.display()))
}

/// The table of the outcomes with `build`, as Markdown.
pub(super) fn table(build: &str, rows: &[Row]) -> String {
    let mut table =
        format!("Measured with {build}.\n\n| attack | before | now |\n| --- | --- | --- |\n");
    for row in rows {
        let outcome = row.outcome.replace('|', "\\|");
        table += &format!("| {} | {} | {outcome} |\n", row.attack, row.before);
    }
    table
}

fn replaced(page: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{table}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_table_is_replaced() {
        let row = Row {
            attack: "a",
            before: "b",
            outcome: "c|d".to_owned(),
        };
        let page = format!("one\n{BEGIN}\nold\n{END}\ntwo\n");
        let expect = format!(
            "one\n{BEGIN}\n\nMeasured with x.\n\n| attack | before | now |\n| --- | --- | --- |\n\
             | a | b | c\\|d |\n\n{END}\ntwo\n"
        );
        assert_eq!(replaced(&page, &table("x", &[row])), Some(expect));
        assert_eq!(replaced("no place", ""), None);
    }
}
