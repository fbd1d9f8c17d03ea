//! Shape rules: the size of files and functions, the growth of public types, and the contents of
//! module roots.

use super::source::Source;
use super::tree::{Finding, Tree};

const MAX_FILE_LINES: usize = 600;
const MAX_FUNCTION_LINES: usize = 80;

/// A file is one idea.
pub(crate) fn file_length(tree: &Tree) -> Vec<Finding> {
    let long = tree
        .rust()
        .filter(|(file, source)| !file.is_test() && source.shipped_lines > MAX_FILE_LINES);
    long.map(|(file, source)| {
        let lines = source.shipped_lines;
        file.finding(
            lines,
            format!("{lines} lines before the tests; the limit is {MAX_FILE_LINES}"),
        )
    })
    .collect()
}

/// Clippy measures functions; this rule keeps its threshold and the lint in place.
pub(crate) fn function_length(tree: &Tree) -> Vec<Finding> {
    let threshold = format!("too-many-lines-threshold = {MAX_FUNCTION_LINES}");
    let settings = [
        ("clippy.toml", threshold.as_str()),
        ("Cargo.toml", "too_many_lines = \"warn\""),
    ];
    missing_settings(tree, &settings)
}

/// Clippy looks for public types that cannot grow; this rule keeps its lints in place.
pub(crate) fn public_types_can_grow(tree: &Tree) -> Vec<Finding> {
    let settings = [
        ("Cargo.toml", "exhaustive_enums = \"warn\""),
        ("Cargo.toml", "exhaustive_structs = \"warn\""),
    ];
    missing_settings(tree, &settings)
}

/// `lib.rs` and `mod.rs` are tables of contents.
pub(crate) fn roots_hold_no_code(tree: &Tree) -> Vec<Finding> {
    let roots = tree
        .rust()
        .filter(|(file, _)| file.path.ends_with("/lib.rs") || file.path.ends_with("/mod.rs"));
    let coded = roots.filter_map(|(file, source)| Some((file, first_code(&source)?)));
    coded
        .map(|(file, line)| {
            file.finding(line, "only docs, attributes, `mod` and `use` belong here")
        })
        .collect()
}

/// A name that fits everything says nothing.
pub(crate) fn module_names(tree: &Tree) -> Vec<Finding> {
    const EMPTY: &[&str] = &[
        "common", "core", "helper", "helpers", "manager", "prelude", "types", "util", "utils",
    ];
    let mut findings = Vec::new();
    for (file, _) in tree.rust() {
        let parts = file.path.trim_end_matches(".rs").split('/');
        if let Some(name) = parts.into_iter().find(|part| EMPTY.contains(part)) {
            findings.push(file.finding(1, format!("`{name}` says nothing; name the idea")));
        }
    }
    findings
}

/// Every crate begins with its purpose.
pub(crate) fn lib_docs(tree: &Tree) -> Vec<Finding> {
    let roots = tree
        .files()
        .filter(|file| file.path.starts_with("crates/") && file.path.ends_with("/src/lib.rs"));
    let bare = roots.filter(|file| !file.text.starts_with("//!"));
    bare.map(|file| file.finding(1, "must open with `//!`"))
        .collect()
}

/// The lines that these files must have and do not.
fn missing_settings(tree: &Tree, settings: &[(&str, &str)]) -> Vec<Finding> {
    let is_missing = |(path, setting): &&(&str, &str)| {
        let text = tree.file(path).map_or("", |file| &file.text);
        !text.lines().any(|line| line == *setting)
    };
    let missing = settings.iter().filter(is_missing);
    missing
        .map(|(path, setting)| Finding::new(path, 1, format!("must say `{setting}`")))
        .collect()
}

/// The line of the first item that is more than an entry in a table of contents.
fn first_code(source: &Source) -> Option<usize> {
    let mut item = String::new();
    let mut start = 1;
    for (number, line) in source.shipped() {
        if item.is_empty() {
            start = number;
        }
        item.push_str(line.trim());
        if is_attribute(&item) || is_entry(&item) {
            item.clear();
        } else if item.ends_with([';', '}']) {
            return Some(start);
        }
    }
    None
}

fn is_attribute(item: &str) -> bool {
    let closed = item.matches('[').count() == item.matches(']').count();
    item.starts_with('#') && item.ends_with(']') && closed
}

/// True if `item` declares a module or imports something, both of which live elsewhere.
fn is_entry(item: &str) -> bool {
    let item = item.strip_prefix("pub").map_or(item, |rest| {
        let restricted = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        restricted.map_or(rest, |(_, rest)| rest).trim_start()
    });
    let module = item.starts_with("mod ") && !item.contains('{');
    (module || item.starts_with("use ")) && item.ends_with(';')
}

#[cfg(test)]
mod tests {
    use super::{
        file_length, function_length, lib_docs, module_names, public_types_can_grow,
        roots_hold_no_code,
    };
    use crate::tidy::tree::check;

    #[test]
    fn lines_before_the_tests_count() {
        let tests = "#[cfg(test)]\nmod tests {\n}\n";
        let good = format!("{}{tests}", "\n".repeat(600));
        let bad = format!("{}{tests}", "\n".repeat(601));
        let files = [
            ("bench/src/a.rs", good.as_str()),
            ("bench/src/b.rs", bad.as_str()),
            ("bench/tests/c.rs", bad.as_str()),
        ];
        let expected = ["bench/src/b.rs:601: 601 lines before the tests; the limit is 600"];
        check(file_length, &files, &expected);
    }

    #[test]
    fn clippy_keeps_measuring_functions() {
        let good = [
            (
                "Cargo.toml",
                "[workspace.lints.clippy]\ntoo_many_lines = \"warn\"\n",
            ),
            ("clippy.toml", "too-many-lines-threshold = 80\n"),
        ];
        check(function_length, &good, &[]);
        let bad = [
            ("Cargo.toml", ""),
            ("clippy.toml", "too-many-lines-threshold = 100\n"),
        ];
        let expected = [
            "clippy.toml:1: must say `too-many-lines-threshold = 80`",
            "Cargo.toml:1: must say `too_many_lines = \"warn\"`",
        ];
        check(function_length, &bad, &expected);
    }

    #[test]
    fn clippy_keeps_looking_for_types_that_cannot_grow() {
        let good = "[workspace.lints.clippy]\nexhaustive_enums = \"warn\"\nexhaustive_structs = \"warn\"\n";
        check(public_types_can_grow, &[("Cargo.toml", good)], &[]);
        let bad = "[workspace.lints.clippy]\nexhaustive_enums = \"allow\"\n";
        let expected = [
            "Cargo.toml:1: must say `exhaustive_enums = \"warn\"`",
            "Cargo.toml:1: must say `exhaustive_structs = \"warn\"`",
        ];
        check(public_types_can_grow, &[("Cargo.toml", bad)], &expected);
    }

    #[test]
    fn roots_are_tables_of_contents() {
        let good = "//! Docs.\n\n#![deny(\n    unsafe_code\n)]\n\nmod a;\n#[cfg(unix)]\npub(crate) mod b;\n\
                    pub use a::{\n    C,\n    D,\n};\n\n#[cfg(test)]\nmod tests {\n    fn f() {}\n}\n";
        let function = "mod a;\n\n#[inline]\npub fn f() {\n    g();\n}\n";
        let inline = "mod a {\n    pub struct B;\n}\n";
        let files = [
            ("crates/a/src/lib.rs", good),
            ("crates/b/src/lib.rs", function),
            ("crates/b/src/c/mod.rs", inline),
            ("crates/b/src/main.rs", function),
        ];
        let expected = [
            "crates/b/src/lib.rs:4: only docs, attributes, `mod` and `use` belong here",
            "crates/b/src/c/mod.rs:1: only docs, attributes, `mod` and `use` belong here",
        ];
        check(roots_hold_no_code, &files, &expected);
    }

    #[test]
    fn names_say_something() {
        let files = [
            ("crates/mcp/src/score.rs", ""),
            ("crates/mcp/src/util/line.rs", ""),
            ("crates/mcp/src/types.rs", ""),
        ];
        let expected = [
            "crates/mcp/src/util/line.rs:1: `util` says nothing; name the idea",
            "crates/mcp/src/types.rs:1: `types` says nothing; name the idea",
        ];
        check(module_names, &files, &expected);
    }

    #[test]
    fn libraries_open_with_their_purpose() {
        let files = [
            ("crates/a/src/lib.rs", "//! A.\n"),
            ("crates/b/src/lib.rs", "mod b;\n"),
        ];
        check(
            lib_docs,
            &files,
            &["crates/b/src/lib.rs:1: must open with `//!`"],
        );
    }
}
