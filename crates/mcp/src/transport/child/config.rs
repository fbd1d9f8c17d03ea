use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::environment::Environment;
use crate::transport::{MessageObserver, line};

/// Command line, environment and limits of a server that runs as a child process.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ChildConfig {
    /// Name of the server in errors and logs.
    pub name: Arc<str>,
    /// Path of the program, or a name to look up in `PATH`. No shell is involved.
    pub program: OsString,
    /// Arguments of the program.
    pub args: Vec<OsString>,
    /// Variables of the program, in addition to the inherited ones.
    pub env: Vec<(OsString, OsString)>,
    /// Environment that the program inherits from.
    pub environment: Environment,
    /// Part of that environment that it inherits.
    pub inherit_env: InheritEnv,
    /// Working directory; the one of this process where there is none.
    pub cwd: Option<PathBuf>,
    /// Limits of the connection.
    pub line: line::LineConfig,
    /// Program that ends the whole process tree; see [`supervisor`](super::supervisor).
    pub supervisor: Option<Supervisor>,
    /// Timeouts of the exit of the process.
    pub exit_timeouts: ExitTimeouts,
    /// Process that waits for the exit of the server when it is closed.
    pub close_by: CloseBy,
    /// Observer of all lines, those of standard error included.
    pub observer: Option<MessageObserver>,
}

/// Part of an environment that a child inherits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum InheritEnv {
    /// Variables that most programs need: `HOME`, `PATH`, `LANG`, `LC_*`, `TMPDIR`, `XDG_*`,
    /// `USER`, `SHELL` and `TERM`, or their counterparts on other systems.
    #[default]
    AllowList,
    /// All variables, secrets included.
    All,
}

/// Program that calls [`run_if_requested`](super::supervisor::run_if_requested) first.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Supervisor {
    /// Path of the program, usually the one of this process.
    pub program: PathBuf,
    /// Arguments before those that request supervision; usually none.
    pub args: Vec<OsString>,
}

/// Process that waits for the exit of a server that is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CloseBy {
    /// This one: a close returns when the whole process tree has exited.
    #[default]
    ThisProcess,
    /// The supervisor: a close returns at once, and this process may exit. The supervisor ends the
    /// server step by step, with the same timeouts, and reads its output until then.
    ///
    /// Without a supervisor, this process waits as with [`Self::ThisProcess`].
    Supervisor,
}

/// Timeouts of the exit of a server, step by step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExitTimeouts {
    /// Time between the end of its input and SIGTERM.
    pub exit: Duration,
    /// Time between SIGTERM and SIGKILL.
    pub terminate: Duration,
    /// Time to wait for the exit status of a server that closed its output, before its calls fail
    /// without it.
    pub status: Duration,
}

impl ChildConfig {
    /// Runs `program` without arguments and without inherited variables, with the usual limits.
    pub fn new(name: impl Into<Arc<str>>, program: impl Into<OsString>) -> Self {
        Self {
            name: name.into(),
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            environment: Environment::default(),
            inherit_env: InheritEnv::default(),
            cwd: None,
            line: line::LineConfig::default(),
            supervisor: None,
            exit_timeouts: ExitTimeouts::default(),
            close_by: CloseBy::default(),
            observer: None,
        }
    }
}

impl Supervisor {
    /// The supervisor at this path, without further arguments.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
        }
    }
}

impl Default for ExitTimeouts {
    fn default() -> Self {
        Self {
            exit: Duration::from_secs(2),
            terminate: Duration::from_secs(2),
            // Callers wait for it, and are to know of a dead server within 250 milliseconds.
            status: Duration::from_millis(200),
        }
    }
}
