use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::environment::Environment;
use crate::transport::line;

/// What to run as a server, and how.
#[derive(Debug, Clone)]
pub struct ChildConfig {
    /// What the server is called in errors.
    pub name: Arc<str>,
    /// The program: a path, or a name to look up in `PATH`. No shell is involved.
    pub program: OsString,
    /// The arguments of the program.
    pub args: Vec<OsString>,
    /// Variables for the program, on top of what it inherits.
    pub env: Vec<(OsString, OsString)>,
    /// The environment that the program may inherit from.
    pub environment: Environment,
    /// How much of that environment it inherits.
    pub inherit_env: InheritEnv,
    /// The working directory; that of this process where there is none.
    pub cwd: Option<PathBuf>,
    /// How much the connection may hold.
    pub line: line::Config,
    /// The program that ends the whole process tree; see [`supervisor`](super::supervisor).
    pub supervisor: Option<Supervisor>,
    /// How long a server may take to go.
    pub patience: Patience,
}

/// How much of an environment a child inherits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InheritEnv {
    /// What programs need to find their way: `HOME`, `PATH`, `LANG`, `LC_*`, `TMPDIR`, `XDG_*`,
    /// `USER`, `SHELL` and `TERM`, or what corresponds to them.
    #[default]
    AllowList,
    /// All of it, secrets included.
    All,
}

/// A program that calls [`run_if_requested`](super::supervisor::run_if_requested) first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supervisor {
    /// The path of the program, usually that of this process.
    pub program: PathBuf,
    /// Arguments before those that ask for supervision; usually none.
    pub args: Vec<OsString>,
}

/// How long a server may take to go, step by step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// From the end of its input to a request to terminate.
    pub exit: Duration,
    /// From that request until it is killed.
    pub terminate: Duration,
}

impl ChildConfig {
    /// Runs `program` without arguments, with nothing inherited and the usual limits.
    pub fn new(name: impl Into<Arc<str>>, program: impl Into<OsString>) -> Self {
        Self {
            name: name.into(),
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            environment: Environment::default(),
            inherit_env: InheritEnv::default(),
            cwd: None,
            line: line::Config::default(),
            supervisor: None,
            patience: Patience::default(),
        }
    }
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            exit: Duration::from_secs(2),
            terminate: Duration::from_secs(2),
        }
    }
}
