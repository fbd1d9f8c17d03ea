//! Location of the files of the specification.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use callgate_wire::{Limits, RawJson};

/// The directory with one folder for each revision.
pub(crate) fn spec_dir() -> PathBuf {
    if let Some(dir) = std::env::var_os("MCP_SPEC_DIR") {
        let dir = PathBuf::from(dir);
        assert!(dir.is_dir(), "MCP_SPEC_DIR is not a directory: {dir:?}");
        return dir;
    }
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/spec");
    assert!(beside.is_dir(), "set MCP_SPEC_DIR: no {beside:?}");
    beside
}

/// Reads the value in a file.
pub(crate) fn read(path: &Path) -> RawJson {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    RawJson::parse(Bytes::from(bytes), &Limits::default())
        .unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

/// The names in a directory, in order.
pub(crate) fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap_or_else(|error| panic!("{dir:?}: {error}"));
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Says a line that the test harness does not keep to itself.
pub(crate) fn report(line: &str) {
    writeln!(std::io::stderr(), "spec: {line}").unwrap();
}
