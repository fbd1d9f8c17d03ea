use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, ensure};

use super::limits::LIMITS;
use super::survey::Surveyed;
use super::{REVISIONS, Upstream};
use crate::repo::Repo;

/// Results of the suite over one upstream.
pub(super) struct Row {
    pub(super) upstream: Upstream,
    /// Number of scenarios that passed, and of all, for each revision.
    pub(super) passed: Vec<(usize, usize)>,
    /// The scenarios that did not go as expected.
    pub(super) unexpected: Vec<String>,
}

impl Row {
    pub(super) fn new(upstream: Upstream) -> Self {
        Self {
            upstream,
            passed: Vec::new(),
            unexpected: Vec::new(),
        }
    }
}

const PAGE: &str = "docs/bridge.md";
const BEGIN: &str = "<!-- begin: cargo xtask bridge -->\n";
const END: &str = "<!-- end: cargo xtask bridge -->\n";

/// Puts the table into the page, or fails if it is not there already.
pub(super) fn update(repo: &Repo, rows: &[Row], surveyed: &[Surveyed], check: bool) -> Result<()> {
    let path = repo.root().join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| format!("cannot read {PAGE}"))?;
    let updated = replaced(&page, &(table(rows) + &survey_table(surveyed) + "\n"))?;
    if updated == page {
        return Ok(());
    }
    ensure!(
        !check,
        "{PAGE} is out of date; run `cargo xtask bridge` and commit it"
    );
    fs::write(path, updated)?;
    println!("wrote {PAGE}");
    Ok(())
}

/// The page with `table` between its marks.
fn replaced(page: &str, table: &str) -> Result<String> {
    let marks = || {
        format!(
            "{PAGE} must have the lines `{}` and `{}`",
            BEGIN.trim(),
            END.trim()
        )
    };
    let (before, rest) = page.split_once(BEGIN).with_context(marks)?;
    let (_, after) = rest.split_once(END).with_context(marks)?;
    Ok(format!("{before}{BEGIN}{table}{END}{after}"))
}

fn table(rows: &[Row]) -> String {
    let mut table = format!("\n| upstream | {} |\n", REVISIONS.join(" | "));
    table += "| --- | --: | --: |\n";
    for row in rows {
        let passed: Vec<String> = row
            .passed
            .iter()
            .map(|(passed, of)| format!("{passed} of {of}"))
            .collect();
        writeln!(
            table,
            "| {} | {} |",
            words(row.upstream),
            passed.join(" | ")
        )
        .expect("a string takes everything");
    }
    if !LIMITS.is_empty() {
        table += "\nThe scenarios that are missing, and why:\n\n";
        table += "| revision | scenario | upstream | why |\n| --- | --- | --- | --- |\n";
    }
    for limit in LIMITS {
        let upstreams: Vec<&str> = limit.upstreams.iter().map(|one| words(*one)).collect();
        writeln!(
            table,
            "| {} | `{}` | {} | {} |",
            limit.revision,
            limit.scenario,
            upstreams.join("; "),
            limit.why
        )
        .expect("a string takes everything");
    }
    table.push('\n');
    table
}

/// The lists of servers of others, as clients of each era see them.
pub(super) fn survey_table(surveyed: &[Surveyed]) -> String {
    let mut table =
        "Servers of others, whose lists were compared with and without the relay:\n\n".to_owned();
    table += "| server | transport | tools, prompts, resources, templates | client of 2025-11-25 | client of 2026-07-28 |\n";
    table += "| --- | --- | --: | --- | --- |\n";
    for row in surveyed {
        let Surveyed {
            server,
            transport,
            counts,
            old,
            new,
        } = row;
        let counts = counts.map(|count| count.to_string()).join(", ");
        writeln!(
            table,
            "| {server} | {transport} | {counts} | {old} | {new} |"
        )
        .expect("a string takes everything");
    }
    table
}

fn words(upstream: Upstream) -> &'static str {
    match upstream {
        Upstream::StdioOld => "stdio, 2025-11-25",
        Upstream::StdioNew => "stdio, 2026-07-28",
        Upstream::HttpOld => "Streamable HTTP, 2025-11-25",
        Upstream::HttpNew => "Streamable HTTP, 2026-07-28",
        Upstream::HttpSse => "HTTP+SSE, 2024-11-05",
        Upstream::TypescriptHttp => "TypeScript SDK, Streamable HTTP of both eras",
        Upstream::TypescriptStdio => "TypeScript SDK, stdio of both eras",
        Upstream::PythonHttp => "Python SDK, Streamable HTTP of both eras",
        Upstream::PythonStdio => "Python SDK, stdio of both eras",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_between_the_marks_is_replaced() {
        let page = format!("# Title\n\n{BEGIN}old\n{END}\nMore.\n");
        assert_eq!(
            replaced(&page, "new\n").unwrap(),
            format!("# Title\n\n{BEGIN}new\n{END}\nMore.\n")
        );
        assert!(replaced("# Title\n", "new\n").is_err());
    }
}
