use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::source::Source;
use crate::process;

/// The files of the repository, sorted by path.
pub(crate) struct Tree {
    files: Vec<File>,
}

/// One file; the text of a binary file is empty.
pub(crate) struct File {
    /// Relative to the repository, with forward slashes.
    pub(crate) path: String,
    /// Text of the file.
    pub(crate) text: String,
}

/// A broken rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Tree {
    /// Reads the files that git tracks or would track.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut list = Command::new("git");
        list.args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]);
        let list = process::capture(list.current_dir(root))?;
        let mut files = Vec::new();
        for path in list.split_terminator('\0') {
            let full = root.join(path);
            if !full.is_file() {
                continue; // Deleted but not yet committed, or a submodule.
            }
            let bytes = std::fs::read(&full).with_context(|| format!("cannot read {path}"))?;
            files.push(File {
                path: path.to_owned(),
                text: String::from_utf8(bytes).unwrap_or_default(),
            });
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.path == b.path);
        Ok(Self { files })
    }

    /// A tree for the tests of the rules.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let file = |&(path, text): &(&str, &str)| File {
            path: path.into(),
            text: text.into(),
        };
        Self {
            files: files.iter().map(file).collect(),
        }
    }

    /// Number of files.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// Every file.
    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    /// The file at `path`.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Every Rust file, test code included.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&File, Source)> {
        let files = self.files.iter().filter(|file| file.path.ends_with(".rs"));
        files.map(|file| (file, Source::new(&file.text)))
    }

    /// The Rust files that a crate under `crates/` is made of; its tests and their programs are not.
    pub(crate) fn library(&self) -> impl Iterator<Item = (&File, Source)> {
        self.rust()
            .filter(|(file, _)| file.is_library() && !file.is_test())
    }
}

impl File {
    /// True if the whole file is test, example or benchmark code.
    pub(crate) fn is_test(&self) -> bool {
        let mut parts = self.path.split('/');
        parts.any(|part| matches!(part, "tests" | "tests.rs" | "examples" | "benches"))
    }

    /// True if the file is under `crates/<name>/src/`.
    fn is_library(&self) -> bool {
        let mut parts = self.path.split('/');
        parts.next() == Some("crates") && parts.nth(1) == Some("src")
    }

    /// The name of the folder under `crates/` that holds the file.
    pub(crate) fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// A finding about this file.
    pub(crate) fn finding(&self, line: usize, message: impl Into<String>) -> Finding {
        Finding::new(&self.path, line, message)
    }
}

impl Finding {
    /// A finding about a file that need not be there.
    pub(crate) fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Asserts what `rule` says about `files`, one `path:line: message` each.
#[cfg(test)]
pub(crate) fn check(rule: super::Rule, files: &[(&str, &str)], expected: &[&str]) {
    let found: Vec<String> = rule(&Tree::of(files))
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(found, expected);
}
