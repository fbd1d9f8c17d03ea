//! Words and attributes that a Rust file must not contain.

use super::source::{Source, has_word, numbered};
use super::tree::{File, Finding, Tree};

/// Names that left the protocol with revision 2026-07-28.
const OLD_WORDS: &[&str] = &[
    "initialize",
    "Mcp-Session-Id",
    "Last-Event-ID",
    "notifications/initialized",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "roots/list_changed",
    "2025-11-25",
    "2025-06-18",
    "2025-03-26",
    "2024-11-05",
];

/// Folders in which they may occur.
const OLD_HOMES: &[&str] = &[
    "crates/wire/src/version",
    "crates/wire/src/legacy",
    "crates/mcp/src/legacy",
];

/// Only the legacy edges know the old protocol, in code, strings and comments alike.
pub(crate) fn old_protocol_words(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.library() {
        if OLD_HOMES.iter().any(|home| file.path.starts_with(home)) {
            continue;
        }
        for (number, line) in numbered(&file.text).take(source.shipped_lines) {
            let line = line.to_ascii_lowercase();
            let found = OLD_WORDS
                .iter()
                .filter(|word| has_word(&line, &word.to_ascii_lowercase()));
            findings.extend(found.map(|word| {
                file.finding(number, format!("`{word}` belongs to the legacy modules"))
            }));
        }
    }
    findings
}

/// Derived flatten and tagged types lose numbers under `serde_json/arbitrary_precision`.
pub(crate) fn no_derived_tags(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, Source { code, .. }) in tree.library() {
        for (start, _) in code.match_indices("#[serde(") {
            let (before, attribute) = code.split_at(start);
            let (attribute, _) = attribute.split_once(")]").unwrap_or((attribute, ""));
            let line = 1 + before.matches('\n').count();
            let tags = ["untagged", "flatten", "tag"];
            findings.extend(
                tags.iter()
                    .filter(|tag| has_word(attribute, tag))
                    .map(|tag| {
                        let message =
                            format!("no serde({tag}): peek the tag, then decode the same span");
                        file.finding(line, message)
                    }),
            );
        }
    }
    findings
}

const IGNORED: &str = "a test runs or is deleted; one that needs files or programs from elsewhere \
                       is in tests/spec, tests/interop, tests/it/keychain or tests/it/shells and names the `cargo xtask` that runs it";

/// True for an ignored test that `cargo xtask spec`, `cargo xtask interop` `cargo xtask keychain` or `cargo xtask shells` runs.
fn is_run_by_xtask(file: &File, number: usize) -> bool {
    let line = file.text.lines().nth(number - 1).unwrap_or_default();
    let folders = [
        ("spec", "/tests/spec/"),
        ("interop", "/tests/interop/"),
        ("keychain", "/tests/it/keychain/"),
        ("shells", "/tests/it/shells/"),
    ];
    folders.iter().any(|(command, folder)| {
        let reason = format!(": cargo xtask {command}\"]");
        file.path.contains(folder) && line.trim_end().ends_with(&reason)
    })
}

/// Nothing unfinished and nothing silenced is committed, tests included.
pub(crate) fn no_leftovers(tree: &Tree) -> Vec<Finding> {
    const BANNED: &[(&str, &str)] = &[
        ("#[allow(", "use #[expect(lint, reason = \"...\")]"),
        ("#![allow(", "use #[expect(lint, reason = \"...\")]"),
        ("#[ignore", IGNORED),
        ("dbg!", "remove it"),
        ("todo!", "finish it"),
        ("unimplemented!", "finish it"),
    ];
    let mut findings = Vec::new();
    for (file, source) in tree.rust() {
        for (number, line) in numbered(&source.code) {
            let found = BANNED.iter().filter(|(word, _)| {
                has_word(line, word) && !(*word == "#[ignore" && is_run_by_xtask(file, number))
            });
            findings.extend(
                found.map(|(word, advice)| file.finding(number, format!("`{word}`: {advice}"))),
            );
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{IGNORED, no_derived_tags, no_leftovers, old_protocol_words};
    use crate::tidy::tree::check;

    #[test]
    fn old_words_stay_in_the_legacy_modules() {
        let text = "/// Sends `initialize`.\nconst HEADER: &str = \"mcp-session-id\";\nfn initialized() {}\n";
        let tail = "\n#[cfg(test)]\nmod tests {\n    // 2025-11-25\n}\n";
        let files = [
            ("conformance/src/main.rs", text),
            ("crates/hub/src/a.rs", text),
            ("crates/hub/src/b.rs", tail),
            ("crates/mcp/src/legacy/client.rs", text),
            ("crates/mcp/tests/it/a.rs", text),
            ("crates/wire/src/version.rs", text),
        ];
        let expected = [
            "crates/hub/src/a.rs:1: `initialize` belongs to the legacy modules",
            "crates/hub/src/a.rs:2: `Mcp-Session-Id` belongs to the legacy modules",
        ];
        check(old_protocol_words, &files, &expected);
    }

    #[test]
    fn serde_tags_are_refused() {
        let text = "#[serde(rename = \"tag\")]\n#[serde(\n    default,\n    flatten,\n)]\n\n#[serde(tag = \"type\")]\n";
        let expected = [
            "crates/wire/src/a.rs:2: no serde(flatten): peek the tag, then decode the same span",
            "crates/wire/src/a.rs:7: no serde(tag): peek the tag, then decode the same span",
        ];
        check(
            no_derived_tags,
            &[("crates/wire/src/a.rs", text)],
            &expected,
        );
    }

    #[test]
    fn leftovers_are_found_in_tests_too() {
        let text = "#[expect(dead_code)]\n#[allow(dead_code)]\n// todo!()\n#[cfg(test)]\nmod tests {\n    #[ignore]\n    fn a() { todo!() }\n}\n";
        let expected = [
            "bench/src/a.rs:2: `#[allow(`: use #[expect(lint, reason = \"...\")]",
            "bench/src/a.rs:6: `#[ignore`: a test runs or is deleted; one that needs files or programs from elsewhere is in tests/spec, tests/interop, tests/it/keychain or tests/it/shells and names the `cargo xtask` that runs it",
            "bench/src/a.rs:7: `todo!`: finish it",
        ];
        check(no_leftovers, &[("bench/src/a.rs", text)], &expected);
    }

    #[test]
    fn only_tests_that_a_command_runs_may_be_ignored() {
        let text = "#[ignore = \"needs peers: cargo xtask interop\"]\n#[ignore = \"slow\"]\n";
        let files = [
            ("crates/mcp/tests/interop/a.rs", text),
            ("crates/mcp/tests/it/a.rs", text),
        ];
        let refused = [
            ("crates/mcp/tests/interop/a.rs", 2),
            ("crates/mcp/tests/it/a.rs", 1),
            ("crates/mcp/tests/it/a.rs", 2),
        ];
        let expected = refused.map(|(path, line)| format!("{path}:{line}: `#[ignore`: {IGNORED}"));
        check(
            no_leftovers,
            &files,
            &expected.each_ref().map(String::as_str),
        );
    }
}
