//! Dependency rules of the crates.

use super::source::numbered;
use super::tree::{File, Finding, Tree};

/// Crates of this workspace that a crate may use, as drawn in docs/architecture.md.
const EDGES: &[(&str, &[&str])] = &[
    ("crates/wire", &[]),
    ("crates/mcp", &["wire"]),
    ("crates/oauth", &["mcp", "wire"]),
    ("crates/hub", &["mcp", "wire"]),
    ("crates/tools", &["mcp", "wire"]),
    ("crates/cli", &["hub", "mcp", "oauth", "tools", "wire"]),
    ("conformance", &["mcp", "oauth", "wire"]),
    ("bench", &["hub", "mcp", "wire"]),
    ("xtask", &[]),
];

/// Dependencies that would bring I/O, async or a clock into `wire`.
const IMPURE: &[&str] = &[
    "cap-std",
    "futures-util",
    "hyper",
    "rustix",
    "tokio",
    "tracing",
];

/// Crates depend on each other only along the arrows of the diagram.
pub(crate) fn crate_edges(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, folder) in manifests(tree) {
        let Some((_, allowed)) = EDGES.iter().find(|(name, _)| *name == folder) else {
            let message = "a new crate: draw it in docs/architecture.md and add it to EDGES";
            findings.push(file.finding(1, message));
            continue;
        };
        for Dependency {
            line, name, dev, ..
        } in dependencies(file)
        {
            let ours = name.strip_prefix("callgate-");
            if ours.is_some_and(|ours| !allowed.contains(&ours)) {
                findings.push(file.finding(line, format!("{folder} must not depend on {name}")));
            }
            if folder == "crates/wire" && !dev && IMPURE.contains(&name) {
                findings.push(file.finding(line, format!("wire must not depend on {name}")));
            }
        }
    }
    findings
}

/// Libraries have typed errors.
pub(crate) fn only_cli_uses_anyhow(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, folder) in manifests(tree) {
        if !folder.starts_with("crates/") || folder == "crates/cli" {
            continue;
        }
        let anyhow = dependencies(file)
            .into_iter()
            .filter(|found| found.name == "anyhow");
        findings.extend(anyhow.map(|found| file.finding(found.line, "only the cli uses anyhow")));
    }
    findings
}

/// Versions are written once, in `[workspace.dependencies]`.
pub(crate) fn workspace_versions(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, _) in manifests(tree) {
        for Dependency {
            line,
            name,
            inherited,
            ..
        } in dependencies(file)
        {
            if !inherited {
                let message = format!("{name} must say `workspace = true` on this line");
                findings.push(file.finding(line, message));
            }
        }
    }
    findings
}

struct Dependency<'a> {
    line: usize,
    name: &'a str,
    dev: bool,
    inherited: bool,
}

/// The manifests of the workspace members with their folders.
fn manifests(tree: &Tree) -> impl Iterator<Item = (&File, &str)> {
    let own_workspaces = ["examples", "fuzz"];
    let folders = tree.files().filter_map(|file| {
        let folder = file.path.strip_suffix("/Cargo.toml")?;
        Some((file, folder))
    });
    folders.filter(move |(_, folder)| {
        let top = folder.split('/').next().unwrap_or_default();
        !own_workspaces.contains(&top)
    })
}

/// The dependencies of a manifest, in which each begins a line of its own as `cargo add` writes them.
fn dependencies(manifest: &File) -> Vec<Dependency<'_>> {
    let mut found = Vec::new();
    let mut section = "";
    for (line, text) in numbered(&manifest.text) {
        if let Some(header) = text.strip_prefix('[') {
            section = header.trim_end().trim_end_matches(']');
            continue;
        }
        let is_key = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        // The tests of a crate depend on the crate itself to turn on a feature for tests only.
        let is_itself = section == "dev-dependencies" && text.contains("path = \".\"");
        if !section.ends_with("dependencies") || !is_key || is_itself {
            continue;
        }
        let (name, _) = text.split_once(['.', ' ', '=']).unwrap_or((text, ""));
        found.push(Dependency {
            line,
            name,
            dev: section.ends_with("dev-dependencies"),
            inherited: text.replace(' ', "").contains("workspace=true"),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{crate_edges, only_cli_uses_anyhow, workspace_versions};
    use crate::tidy::tree::check;

    #[test]
    fn edges_follow_the_diagram() {
        let mcp = "[dependencies]\ncallgate-wire.workspace = true\n\
                   [dev-dependencies]\ncallgate-tools.workspace = true\n\
                   callgate-mcp = { path = \".\", features = [\"test\"] }\n";
        let wire = "[dependencies]\ncallgate-mcp.workspace = true\ntokio.workspace = true\n\
                    [dev-dependencies]\ntokio.workspace = true\n";
        let files = [
            ("crates/mcp/Cargo.toml", mcp),
            ("crates/wire/Cargo.toml", wire),
            ("crates/zap/Cargo.toml", ""),
            (
                "fuzz/Cargo.toml",
                "[dependencies]\ncallgate-wire = { path = \"x\" }\n",
            ),
        ];
        let expected = [
            "crates/mcp/Cargo.toml:4: crates/mcp must not depend on callgate-tools",
            "crates/wire/Cargo.toml:2: crates/wire must not depend on callgate-mcp",
            "crates/wire/Cargo.toml:3: wire must not depend on tokio",
            "crates/zap/Cargo.toml:1: a new crate: draw it in docs/architecture.md and add it to EDGES",
        ];
        check(crate_edges, &files, &expected);
    }

    #[test]
    fn libraries_do_not_use_anyhow() {
        let text = "[dependencies]\nanyhow.workspace = true\n";
        let files = [
            ("crates/cli/Cargo.toml", text),
            ("crates/hub/Cargo.toml", text),
            ("xtask/Cargo.toml", text),
        ];
        let expected = ["crates/hub/Cargo.toml:2: only the cli uses anyhow"];
        check(only_cli_uses_anyhow, &files, &expected);
    }

    #[test]
    fn versions_come_from_the_workspace() {
        let text = "[package]\nversion = \"1\"\n\n[dependencies]\na.workspace = true\n\
                    b = { workspace = true, features = [\n    \"x\",\n] }\nc = \"1\"\n\
                    [target.'cfg(unix)'.dependencies]\nd = { version = \"1\" }\n\
                    [features]\ne = []\n";
        let files = [
            ("Cargo.toml", "[workspace.dependencies]\nf = \"1\"\n"),
            ("bench/Cargo.toml", text),
        ];
        let expected = [
            "bench/Cargo.toml:9: c must say `workspace = true` on this line",
            "bench/Cargo.toml:11: d must say `workspace = true` on this line",
        ];
        check(workspace_versions, &files, &expected);
    }
}
