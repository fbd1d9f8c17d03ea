//! A person at a terminal, with a browser.

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::thread;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::world::Home;

/// The most bytes that a login prints at a terminal.
const MOST_SHOWN: u64 = 1 << 20;

/// Output of a command, and its exit code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) exit: Option<i32>,
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        Self {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            exit: output.status.code(),
        }
    }

    /// Output of a command that succeeded.
    pub(crate) fn success(self) -> String {
        assert_eq!(self.exit, Some(0), "{self:?}");
        self.stdout
    }

    /// The arguments, after the server, of the `callgate auth` that a failed command recommends.
    pub(crate) fn next_login(&self) -> Vec<String> {
        let (_, command) = self.stderr.split_once("`callgate auth ").unwrap();
        let (command, _) = command.split_once('`').unwrap();
        let words = command.split_whitespace().skip(1);
        words.map(str::to_owned).collect()
    }
}

impl Home<'_> {
    /// Runs `callgate auth` to its end, and does in a browser what it asks for.
    pub(crate) fn log_in(&self, args: &[&str], secret: Option<&str>) -> Ran {
        let mut auth = self.auth();
        auth.args(args);
        auth.envs(secret.map(|secret| ("CALLGATE_CLIENT_SECRET", secret)));
        self.answer(&mut auth)
    }

    /// Runs `callgate auth` at a terminal, where it opens the browser itself.
    ///
    /// All of its output is in `stdout`.
    pub(crate) fn log_in_at_a_terminal(&self) -> Ran {
        let mut auth = self.auth();
        auth.env("PATH", self.path_with_a_browser());
        let (terminal, ours) = terminal();
        let mut child = auth
            .stdin(terminal.try_clone().unwrap())
            .stdout(terminal.try_clone().unwrap())
            .stderr(terminal)
            .spawn()
            .unwrap();
        // The command holds the other side of the terminal too, and it would never end.
        drop(auth);
        let mut shown = Vec::new();
        // Linux reports an error instead of the end.
        let _ = ours.take(MOST_SHOWN).read_to_end(&mut shown);
        Ran {
            stdout: String::from_utf8(shown).unwrap(),
            stderr: String::new(),
            exit: child.wait().unwrap().code(),
        }
    }

    fn auth(&self) -> Command {
        let mut auth = self.callgate("auth");
        auth.args(["--callback-port", &self.callback_port.to_string()]);
        auth
    }

    /// A directory whose `xdg-open` is our browser, and those of the system.
    fn path_with_a_browser(&self) -> String {
        let browser = self.world.peers.node("browser.mjs");
        let words = std::iter::once(browser.get_program()).chain(browser.get_args());
        let words: Vec<_> = words.map(|word| format!("'{}'", word.display())).collect();
        let dir = self.path().join("bin");
        fs::create_dir_all(&dir).unwrap();
        let program = dir.join("xdg-open");
        fs::write(
            &program,
            format!("#!/bin/sh\nexec {} \"$@\"\n", words.join(" ")),
        )
        .unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        format!("{}:/usr/bin:/bin", dir.display())
    }

    /// Opens the page that `command` names, and pastes the address that the browser ends up at.
    fn answer(&self, command: &mut Command) -> Ran {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let stdout = thread::spawn(move || {
            let mut text = String::new();
            BufReader::new(stdout).read_to_string(&mut text).unwrap();
            text
        });
        let mut stderr = String::new();
        let page = format!("{}/", self.world.issuer());
        for line in BufReader::new(child.stderr.take().unwrap()).lines() {
            let line = line.unwrap();
            // Where a code is to be entered, another page follows that has it entered already.
            let mut words = line.split_whitespace();
            if let Some(url) = words.find(|word| word.starts_with(&page) && word.contains('?')) {
                paste(&mut child, &self.browse(url));
            }
            stderr.push_str(&line);
            stderr.push('\n');
        }
        Ran {
            stdout: stdout.join().unwrap(),
            stderr,
            exit: child.wait().unwrap().code(),
        }
    }

    /// Signs in and agrees to everything; returns where the browser ends up.
    fn browse(&self, url: &str) -> String {
        let mut browser = self.world.peers.node("browser.mjs");
        let shown = Ran::of(browser.arg(url)).success();
        shown.lines().next().unwrap().to_owned()
    }
}

/// A new terminal: the side of a program, and ours.
fn terminal() -> (File, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = File::options().read(true).write(true).open(name).unwrap();
    (theirs, ours.into())
}

/// The command reads it only if it asked for it.
fn paste(child: &mut Child, address: &str) {
    if let Some(mut stdin) = child.stdin.take() {
        let _ = writeln!(stdin, "{address}");
    }
}
