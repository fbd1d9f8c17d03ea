//! Programs of others that take part, installed by `cargo xtask`.

use std::path::PathBuf;

/// Programs from npm and from PyPI.
#[derive(Debug, Clone)]
pub struct Peers {
    /// Node.js with its packages.
    pub node: Node,
    /// Python with its packages.
    pub python: Python,
}

/// Node.js and the directory of its packages.
#[derive(Debug, Clone)]
pub struct Node {
    /// Program of Node.js.
    pub program: PathBuf,
    /// Directory of the packages.
    pub modules: PathBuf,
}

/// Virtual environment of Python.
#[derive(Debug, Clone)]
pub struct Python {
    /// Directory of the environment.
    pub environment: PathBuf,
}

impl Python {
    /// Returns a program of the environment.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.environment.join("bin").join(name)
    }
}
