//! The invariants that the compiler and clippy do not check.

mod layers;
mod links;
mod manifest;
mod paths;
mod shape;
mod source;
mod tree;
mod words;

use anyhow::{Result, ensure};

use crate::repo::Repo;
use tree::{Finding, Tree};

/// Checks every rule on the files that git tracks or would track.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    let tree = Tree::read(repo.root())?;
    let mut findings = 0;
    for (name, rule) in RULES {
        for finding in rule(&tree) {
            findings += 1;
            println!("{finding} [{name}]");
        }
    }
    ensure!(findings == 0, "{findings} broken rules");
    println!("{} rules hold for {} files", RULES.len(), tree.len());
    Ok(())
}

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: &[(&str, Rule)] = &[
    ("wire-is-pure", layers::wire_is_pure),
    (
        "logins-are-decided-without-io",
        layers::logins_are_decided_without_io,
    ),
    ("only-cli-reads-the-host", layers::only_cli_reads_the_host),
    ("only-cli-prints", layers::only_cli_prints),
    ("mcp-imports-point-down", layers::mcp_imports_point_down),
    ("crate-edges", manifest::crate_edges),
    ("only-cli-uses-anyhow", manifest::only_cli_uses_anyhow),
    ("workspace-versions", manifest::workspace_versions),
    ("old-protocol-words", words::old_protocol_words),
    ("no-derived-tags", words::no_derived_tags),
    ("no-leftovers", words::no_leftovers),
    ("file-length", shape::file_length),
    ("function-length", shape::function_length),
    ("public-types-can-grow", shape::public_types_can_grow),
    ("roots-hold-no-code", shape::roots_hold_no_code),
    ("module-names", shape::module_names),
    ("lib-docs", shape::lib_docs),
    ("machine-paths", paths::machine_paths),
    ("links", links::links),
];
