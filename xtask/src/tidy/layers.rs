//! Import rules: the modules and crates that the code of a crate may use.

use super::source::{Source, has_word};
use super::tree::{Finding, Tree};

/// `wire` has no I/O, no async runtime and no clock.
pub(crate) fn wire_is_pure(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree
        .library()
        .filter(|(file, _)| file.crate_name() == Some("wire"))
    {
        for (line, name) in std_modules(&source, &["env", "fs", "net", "process", "thread"]) {
            findings.push(file.finding(line, format!("wire must not use std::{name}")));
        }
        for (line, word) in words(&source, &["tokio", "Instant", "SystemTime"]) {
            findings.push(file.finding(line, format!("wire must not use {word}")));
        }
    }
    findings
}

/// The parts of `oauth` that carry out what the others decide.
const OAUTH_EDGES: [&str; 7] = [
    "browser",
    "callback_listener",
    "consent",
    "fetch",
    "token_source",
    "resource",
    "store",
];

/// Logins are decided without I/O and without a clock; only the edges of `oauth` have them.
pub(crate) fn logins_are_decided_without_io(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.library() {
        let part = file.path.strip_prefix("crates/oauth/src/");
        let part = part.and_then(|path| path.split('/').next());
        if part.is_none_or(|part| OAUTH_EDGES.contains(&part)) {
            continue;
        }
        for (line, name) in std_modules(&source, &["fs", "process", "thread"]) {
            let message = format!("only the edges of oauth may use std::{name}");
            findings.push(file.finding(line, message));
        }
        let needles = ["tokio", "Instant", "SystemTime", "TcpStream", "TcpListener"];
        for (line, word) in words(&source, &needles) {
            let message = format!("only the edges of oauth may use {word}");
            findings.push(file.finding(line, message));
        }
    }
    findings
}

/// Environment variables and home directories are the business of the cli.
pub(crate) fn only_cli_reads_the_host(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree
        .library()
        .filter(|(file, _)| file.crate_name() != Some("cli"))
    {
        for (line, name) in std_modules(&source, &["env"]) {
            findings.push(file.finding(line, format!("only the cli may use std::{name}")));
        }
        for (line, word) in words(&source, &["home_dir", "config_dir", "data_dir"]) {
            findings.push(file.finding(line, format!("only the cli may call {word}")));
        }
    }
    findings
}

/// Folders of `mcp`, and those that they do not import.
///
/// The transports know only the newest revision, and the layers nothing but the service.
const MCP_IMPORTS: &[(&str, &[&str])] = &[
    ("crates/mcp/src/transport/", &["legacy"]),
    ("crates/mcp/src/layer/", &["legacy", "transport"]),
];

/// Parts of `mcp` import only what lies below them.
pub(crate) fn mcp_imports_point_down(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.library() {
        let rule = MCP_IMPORTS
            .iter()
            .find(|(folder, _)| file.path.starts_with(folder));
        let Some((folder, forbidden)) = rule else {
            continue;
        };
        let folder = folder.trim_end_matches('/').rsplit('/').next();
        let folder = folder.unwrap_or_default();
        for (line, name) in modules(&source, &["crate"], forbidden) {
            let message = format!("`{folder}` must not import `{name}`");
            findings.push(file.finding(line, message));
        }
    }
    findings
}

/// Only the cli owns the terminal.
pub(crate) fn only_cli_prints(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree
        .library()
        .filter(|(file, _)| file.crate_name() != Some("cli"))
    {
        for (line, word) in words(&source, &["print!", "println!", "eprint!", "eprintln!"]) {
            findings.push(file.finding(line, format!("only the cli may use {word}")));
        }
    }
    findings
}

/// Lines of shipped code that hold one of `needles` as a word.
fn words<'a>(source: &Source, needles: &[&'a str]) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    for (number, line) in source.shipped() {
        found.extend(
            needles
                .iter()
                .filter(|word| has_word(line, word))
                .map(|word| (number, *word)),
        );
    }
    found
}

/// Lines of shipped code that name one of these modules of `std`, alone or in a group of imports.
fn std_modules<'a>(source: &Source, names: &[&'a str]) -> Vec<(usize, &'a str)> {
    modules(source, &["std", "tokio"], names)
}

/// Lines of shipped code that name one of the modules `names` of these crates. In a group of
/// imports, only those of the first crate are found.
fn modules<'a>(source: &Source, roots: &[&str], names: &[&'a str]) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    let group_start = format!("{}::{{", roots.first().unwrap_or(&""));
    let mut depth = None;
    for (number, line) in source.shipped() {
        let mut grouped = "";
        if depth.is_some() {
            grouped = line;
        } else if let Some((_, group)) = line.split_once(&group_start) {
            depth = Some(1);
            grouped = group;
        }
        for name in names {
            let mut alone = roots.iter().map(|root| format!("{root}::{name}"));
            if alone.any(|path| has_word(line, &path)) || has_word(grouped, name) {
                found.push((number, *name));
            }
        }
        depth = depth
            .map(|depth| braces(depth, grouped))
            .filter(|depth| *depth > 0);
    }
    found
}

/// The nesting after `line` when it was `depth` before.
fn braces(depth: usize, line: &str) -> usize {
    line.chars().fold(depth, |depth, c| match c {
        '{' => depth + 1,
        '}' => depth.saturating_sub(1),
        _ => depth,
    })
}

#[cfg(test)]
mod tests {
    use super::{
        logins_are_decided_without_io, mcp_imports_point_down, only_cli_prints,
        only_cli_reads_the_host, wire_is_pure,
    };
    use crate::tidy::tree::check;

    #[test]
    fn wire_may_not_do_io_or_read_the_clock() {
        let text = "use std::fs;\nuse std::{\n    fmt,\n    net::IpAddr,\n};\nuse tokio::io;\n\
                    fn now() -> Instant {}\nfn fmt(net: u8) {}\n";
        let expected = [
            "crates/wire/src/a.rs:1: wire must not use std::fs",
            "crates/wire/src/a.rs:4: wire must not use std::net",
            "crates/wire/src/a.rs:6: wire must not use tokio",
            "crates/wire/src/a.rs:7: wire must not use Instant",
        ];
        check(wire_is_pure, &[("crates/wire/src/a.rs", text)], &expected);
    }

    #[test]
    fn other_crates_and_tests_may() {
        let text = "use std::time::Instant;\n";
        let tail = "// std::fs\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
        let files = [
            ("crates/mcp/src/a.rs", text),
            ("crates/wire/tests/it.rs", text),
            ("crates/wire/src/a.rs", tail),
        ];
        check(wire_is_pure, &files, &[]);
    }

    #[test]
    fn only_the_edges_of_oauth_do_io_or_read_the_clock() {
        let text =
            "use std::fs;\nuse std::net::IpAddr;\nuse tokio::net;\nfn now() -> SystemTime {}\n";
        let files = [
            ("crates/oauth/src/flow/a.rs", text),
            ("crates/oauth/src/store/a.rs", text),
            ("crates/mcp/src/a.rs", text),
        ];
        let expected = [
            "crates/oauth/src/flow/a.rs:1: only the edges of oauth may use std::fs",
            "crates/oauth/src/flow/a.rs:3: only the edges of oauth may use tokio",
            "crates/oauth/src/flow/a.rs:4: only the edges of oauth may use SystemTime",
        ];
        check(logins_are_decided_without_io, &files, &expected);
    }

    #[test]
    fn only_the_cli_reads_the_environment() {
        let text = "let a = std::env::var(name);\nlet b = dirs::home_dir();\n";
        let files = [("crates/cli/src/a.rs", text), ("crates/hub/src/a.rs", text)];
        let expected = [
            "crates/hub/src/a.rs:1: only the cli may use std::env",
            "crates/hub/src/a.rs:2: only the cli may call home_dir",
        ];
        check(only_cli_reads_the_host, &files, &expected);
        check(
            only_cli_reads_the_host,
            &[("crates/hub/src/a.rs", "env!(\"X\")\n")],
            &[],
        );
    }

    #[test]
    fn only_the_cli_prints() {
        let text = "/// println!()\nprintln!();\n";
        let files = [
            ("bench/src/a.rs", text),
            ("crates/cli/src/a.rs", text),
            ("crates/mcp/peer/a.rs", text),
            ("crates/mcp/src/a.rs", text),
        ];
        check(
            only_cli_prints,
            &files,
            &["crates/mcp/src/a.rs:2: only the cli may use println!"],
        );
    }

    #[test]
    fn transports_know_no_older_revision_and_layers_no_transport() {
        let text = "use crate::legacy::server;\nuse crate::{\n    legacy,\n    transport::line,\n};\n\
                    fn a() { crate::transport::http::x() }\n";
        let tests = "#[cfg(test)]\nmod tests {\n    use crate::legacy;\n}\n";
        let files = [
            ("crates/mcp/src/layer/a.rs", text),
            ("crates/mcp/src/server/a.rs", text),
            ("crates/mcp/src/transport/line/a.rs", text),
            ("crates/mcp/src/transport/line/b.rs", tests),
        ];
        let expected = [
            "crates/mcp/src/layer/a.rs:1: `layer` must not import `legacy`",
            "crates/mcp/src/layer/a.rs:3: `layer` must not import `legacy`",
            "crates/mcp/src/layer/a.rs:4: `layer` must not import `transport`",
            "crates/mcp/src/layer/a.rs:6: `layer` must not import `transport`",
            "crates/mcp/src/transport/line/a.rs:1: `transport` must not import `legacy`",
            "crates/mcp/src/transport/line/a.rs:3: `transport` must not import `legacy`",
        ];
        check(mcp_imports_point_down, &files, &expected);
    }
}
