use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// Results that the suite wrote.
#[derive(Default)]
pub(super) struct Results {
    /// The checks of each scenario.
    pub(super) checks: BTreeMap<String, Vec<Check>>,
    /// The runs that ended with an exit code other than 0.
    pub(super) unclean: Vec<String>,
}

/// One check of a scenario.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Check {
    /// Its name; a scenario may use one several times.
    pub(super) id: String,
    /// `SUCCESS`, `FAILURE`, `WARNING`, `SKIPPED` or `INFO`.
    pub(super) status: String,
    /// Why it did not succeed, if the suite says so.
    pub(super) message: String,
}

/// Reads every `[server-]<scenario>-<timestamp>/checks.json` below `dir`.
pub(super) fn read(dir: &Path) -> Result<Results> {
    let mut results = Results::default();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        let file = folder.join("checks.json");
        if file.is_file() {
            let text = fs::read_to_string(&file)?;
            let checks = parse(&text).with_context(|| format!("cannot read {}", file.display()))?;
            let name = folder.strip_prefix(dir)?.to_string_lossy().into_owned();
            results
                .checks
                .entry(scenario(&name).to_owned())
                .or_default()
                .extend(checks);
            continue;
        }
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(results)
}

/// The scenario that a result folder is named after.
fn scenario(folder: &str) -> &str {
    const TIMESTAMP: &str = "-2026-11-15T21-48-21-309Z";
    let end = folder.len().saturating_sub(TIMESTAMP.len());
    let name = folder.get(..end).unwrap_or(folder);
    name.strip_prefix("server-").unwrap_or(name)
}

fn parse(text: &str) -> Result<Vec<Check>> {
    let checks: Vec<Value> = serde_json::from_str(text)?;
    checks.iter().map(check).collect()
}

fn check(value: &Value) -> Result<Check> {
    let text = |key: &str| {
        value
            .get(key)
            .and_then(Value::as_str)
            .map(ToOwned::to_owned)
    };
    let details = || value.get("details").map(ToString::to_string);
    Ok(Check {
        id: text("id").context("a check has no id")?,
        status: text("status").context("a check has no status")?,
        message: text("errorMessage").or_else(details).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::{Check, parse, scenario};

    #[test]
    fn folders_are_named_after_scenarios() {
        let cases = [
            (
                "server-server-stateless-2026-11-15T21-48-20-593Z",
                "server-stateless",
            ),
            (
                "server-json-schema-2020-12-2026-11-15T21-48-21-590Z",
                "json-schema-2020-12",
            ),
            (
                "auth/iss-wrong-issuer-2026-11-15T21-48-25-124Z",
                "auth/iss-wrong-issuer",
            ),
        ];
        for (folder, expected) in cases {
            assert_eq!(scenario(folder), expected);
        }
    }

    #[test]
    fn checks_carry_their_reason() {
        let text = r#"[{"id":"a","status":"FAILURE","errorMessage":"x"},{"id":"b","status":"WARNING","details":{"y":1}},{"id":"c","status":"SUCCESS"}]"#;
        let check = |id: &str, status: &str, message: &str| Check {
            id: id.into(),
            status: status.into(),
            message: message.into(),
        };
        let expected = [
            check("a", "FAILURE", "x"),
            check("b", "WARNING", "{\"y\":1}"),
            check("c", "SUCCESS", ""),
        ];
        assert_eq!(parse(text).unwrap(), expected);
        assert!(parse(r#"[{"id":"a"}]"#).is_err());
    }
}
