use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

/// The binary under test.
pub(crate) const CALLGATE: &str = env!("CARGO_BIN_EXE_callgate");

/// An empty home with an empty workspace in it.
pub(crate) struct Home(TempDir);

/// What a command printed, and its exit code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) exit: Option<i32>,
}

/// A `serve` that runs until it is dropped.
pub(crate) struct Serving {
    child: Child,
    pub(crate) url: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(home.workspace()).unwrap();
        home
    }

    pub(crate) fn workspace(&self) -> std::path::PathBuf {
        self.0.path().join("workspace")
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The command line of a server on standard input and output.
    pub(crate) fn stdio_server(&self) -> String {
        format!(
            "{CALLGATE} serve --stdio --workspace {}",
            self.workspace().display()
        )
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(CALLGATE);
        command
            .args(args)
            .env_clear()
            .env("HOME", self.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::from(self.command(args).output().unwrap())
    }

    pub(crate) fn serve(&self, args: &[&str]) -> Serving {
        let workspace = self.workspace();
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0", "--workspace"]);
        command
            .arg(workspace)
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = line
            .trim()
            .strip_prefix("listening on ")
            .unwrap()
            .to_owned();
        Serving { child, url }
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            exit: output.status.code(),
        }
    }
}

impl Ran {
    pub(crate) fn printed(stdout: &str) -> Self {
        Self {
            stdout: stdout.to_owned(),
            stderr: String::new(),
            exit: Some(0),
        }
    }

    pub(crate) fn failed(exit: i32, stderr: &str) -> Self {
        Self {
            stdout: String::new(),
            stderr: stderr.to_owned(),
            exit: Some(exit),
        }
    }
}

impl Serving {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn wait(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
