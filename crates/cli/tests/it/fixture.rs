use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::provider;

/// The binary under test.
pub(crate) const CALLGATE: &str = env!("CARGO_BIN_EXE_callgate");

/// An empty home with an empty workspace in it.
pub(crate) struct Home(TempDir);

/// Output of a command, and its exit code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) exit: Option<i32>,
}

/// A `serve` or `relay` that runs until it is dropped.
pub(crate) struct Serving {
    child: Child,
    pub(crate) url: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir(home.workspace()).unwrap();
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

    /// The command line of a server of the newest revision that is a shell script: it answers with the `result`
    /// that the first of `cases` sets whose pattern fits the request.
    pub(crate) fn shell_server(&self, cases: &str) -> String {
        let about = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#;
        let script = format!(
            r#"while read -r line; do
                id=${{line#*\"id\":}}
                id=${{id%%,*}}
                case $line in
                    *'"method":"server/discover"'*) result='{about}' ;;
                    {cases}
                    *) continue ;;
                esac
                printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$result"
            done"#
        );
        let file = self.path().join("server.sh");
        fs::write(&file, script).unwrap();
        format!("/bin/sh {}", file.display())
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
        command.arg(workspace).args(args).stderr(Stdio::null());
        Serving::start(&mut command)
    }

    /// A `relay` on a free port, whose log goes to a file.
    pub(crate) fn relay(&self, args: &[&str]) -> Serving {
        let mut command = self.command(&["relay", "--listen", "127.0.0.1:0"]);
        let log = fs::File::create(self.relay_log()).unwrap();
        command.args(args).stderr(log);
        Serving::start(&mut command)
    }

    pub(crate) fn relay_log(&self) -> std::path::PathBuf {
        self.path().join("relay.log")
    }
}

/// An `auth` that waits for a browser.
pub(crate) struct LoggingIn {
    child: Child,
    stderr: BufReader<ChildStderr>,
    said: String,
    /// The page to open.
    pub(crate) page: String,
}

impl Home {
    /// Starts to log in, up to where a page has to be opened.
    pub(crate) fn start_login(&self, url: &str, args: &[&str]) -> LoggingIn {
        let mut command = self.command(&["auth", url, "--callback-port", "0"]);
        command.args(args);
        LoggingIn::start(&mut command)
    }

    /// Logs in with a browser on another machine.
    pub(crate) fn paste(&self, url: &str, args: &[&str]) -> Ran {
        let mut command = self.command(&["auth", url, "--no-browser"]);
        LoggingIn::start(command.args(args).stdin(Stdio::piped())).paste()
    }

    /// Logs in with a browser that does what it is told.
    pub(crate) fn log_in(&self, url: &str, args: &[&str]) -> Ran {
        self.start_login(url, args).consent()
    }
}

impl Home {
    /// Changes what is stored about a login.
    pub(crate) fn edit_login(&self, name: &str, edit: impl FnOnce(&mut Value)) {
        let path = self.path().join(".local/share/callgate/mcp-auth.json");
        let mut logins: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let login = &mut logins[name];
        edit(login);
        fs::write(&path, logins.to_string()).unwrap();
    }
}

impl LoggingIn {
    pub(crate) fn start(command: &mut Command) -> Self {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut login = Self {
            child,
            stderr,
            said: String::new(),
            page: String::new(),
        };
        login.next_page();
        login
    }

    /// Waits for the next page to open.
    pub(crate) fn next_page(&mut self) {
        loop {
            let before = self.said.len();
            let read = self.stderr.read_line(&mut self.said).unwrap();
            assert_ne!(read, 0, "no page: {}", self.said);
            let line = self.said[before..].trim();
            if line.starts_with("http") {
                self.page = line.to_owned();
                return;
            }
        }
    }

    /// Opens the page, and everything that it leads to.
    pub(crate) fn consent(self) -> Ran {
        if let (Some(back), _) = provider::get(&self.page) {
            provider::get(&back);
        }
        self.end()
    }

    /// Opens the page, and pastes something else before the address that it leads to.
    pub(crate) fn paste(mut self) -> Ran {
        self.answer("nonsense");
        let (back, _) = provider::get(&self.page);
        self.answer(&back.unwrap());
        self.end()
    }

    /// Pastes `line`.
    pub(crate) fn answer(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// All of its output, with the page left out.
    pub(crate) fn end(mut self) -> Ran {
        self.stderr.read_to_string(&mut self.said).unwrap();
        let output = self.child.wait_with_output().unwrap();
        let ran = Ran::from(output);
        Ran {
            stderr: self.said.replace(&self.page, "PAGE"),
            ..ran
        }
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
    /// Starts a command that serves, and reads its address.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = line
            .trim()
            .strip_prefix("listening on ")
            .unwrap()
            .to_owned();
        Self { child, url }
    }

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

/// Port of this machine that is free.
///
/// It is not one that the system hands out: a listener of another test could get such a port before it is bound
/// again.
pub(crate) fn free_port() -> u16 {
    let random = RandomState::new().build_hasher().finish();
    let ports = (0..20_000).map(|number| 10_000 + random.wrapping_add(number) % 20_000);
    let mut ports = ports.map(|port| u16::try_from(port).unwrap());
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    ports.find(is_free).expect("a port is free")
}
