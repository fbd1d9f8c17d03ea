//! Servers of others, which are no conformance servers: their lists with and without the relay.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::node::Node;
use crate::process;
use crate::python;
use crate::repo::Repo;

/// A server, and the difference that the relay makes to clients of each era.
pub(super) struct Surveyed {
    pub(super) server: String,
    pub(super) transport: String,
    /// Numbers of tools, prompts, resources and templates.
    pub(super) counts: [u64; 4],
    pub(super) old: String,
    pub(super) new: String,
}

/// Runs the survey, and fails if a client sees something through the relay that is not expected.
pub(super) fn run(repo: &Repo) -> Result<Vec<Surveyed>> {
    let (node, venv) = (Node::install(repo)?, python::install(repo)?);
    let mut survey = Command::new(node.program());
    survey
        .arg(repo.root().join("conformance/peers/typescript/survey.mjs"))
        .current_dir(node.dir())
        .env("CALLGATE", repo.target("debug/callgate"))
        .env("CALLGATE_DATA", repo.target("conformance/data"))
        .env("PYTHON", venv.join("bin/python"))
        .env("FASTMCP_SERVER", repo.root().join(FASTMCP_SERVER));
    let printed = process::capture(&mut survey)?;
    let rows: Vec<Surveyed> = printed.lines().map(read).collect::<Result<_>>()?;
    let is_expected = |row: &Surveyed| row.old == expected(row) && row.new == expected(row);
    ensure!(
        rows.iter().all(is_expected),
        "behind the relay a server is not what it is without:\n{printed}"
    );
    Ok(rows)
}

const FASTMCP_SERVER: &str = "crates/mcp/tests/interop/peers/fastmcp_server.py";

/// The difference that the relay makes.
fn expected(row: &Surveyed) -> &'static str {
    match (row.server.as_str(), row.transport.as_str()) {
        // A process is told of all capabilities that the relay can pass on.
        ("server-everything", "stdio") => "more: `trigger-url-elicitation`",
        _ => "the same",
    }
}

/// Reads one line of the survey.
fn read(line: &str) -> Result<Surveyed> {
    let row: Value = serde_json::from_str(line).with_context(|| line.to_owned())?;
    let text = |key: &str| {
        let text = row.get(key).and_then(Value::as_str);
        text.map(str::to_owned).with_context(|| line.to_owned())
    };
    let counts = row.get("counts").and_then(Value::as_array);
    let counts = counts.map(|counts| counts.iter().filter_map(Value::as_u64).collect());
    let counts: Vec<u64> = counts.with_context(|| line.to_owned())?;
    Ok(Surveyed {
        server: text("server")?,
        transport: text("transport")?,
        counts: counts.try_into().ok().with_context(|| line.to_owned())?,
        old: text("old")?,
        new: text("new")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_survey_is_read() {
        let line = r#"{"server":"s","transport":"stdio","counts":[1,2,3,4],"old":"the same","new":"other tools"}"#;
        let row = read(line).unwrap();
        assert_eq!(
            (row.counts, row.old.as_str(), row.new.as_str()),
            ([1, 2, 3, 4], "the same", "other tools")
        );
        assert_eq!(expected(&row), "the same");
        assert!(read("{}").is_err());
    }
}
