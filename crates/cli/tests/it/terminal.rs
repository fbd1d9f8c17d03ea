//! A command on a terminal of its own, and a browser that writes down what it is told to open.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::fixture::Home;

/// A command whose standard streams are a terminal.
pub(crate) struct Terminal {
    child: Child,
    terminal: File,
    said: Vec<u8>,
    /// Part of `said` that was expected already.
    seen: usize,
}

impl Terminal {
    pub(crate) fn start(command: &mut Command) -> Self {
        // A command that inherits this side keeps its own terminal from being closed.
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let terminal = openpt(flags).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap();
        let user = OpenOptions::new()
            .read(true)
            .write(true)
            .open(name.to_str().unwrap())
            .unwrap();
        let child = command
            .stdin(user.try_clone().unwrap())
            .stdout(user.try_clone().unwrap())
            .stderr(user)
            .spawn()
            .unwrap();
        // The command holds the other end as well.
        command.stdin(Stdio::null());
        command.stdout(Stdio::null());
        command.stderr(Stdio::null());
        Self {
            child,
            terminal: terminal.into(),
            said: Vec::new(),
            seen: 0,
        }
    }

    /// Waits for `text`, and answers with a line.
    pub(crate) fn answer(&mut self, text: &str, line: &str) {
        self.expect(text);
        self.terminal.write_all(line.as_bytes()).unwrap();
        self.terminal.write_all(b"\n").unwrap();
    }

    /// Waits for `text`, and ends the input.
    pub(crate) fn end_input(&mut self, text: &str) {
        self.expect(text);
        self.terminal.write_all(b"\x04").unwrap();
    }

    /// Waits until `text` is printed after what was expected before.
    pub(crate) fn expect(&mut self, text: &str) {
        loop {
            let said = self.said();
            if let Some(found) = said.get(self.seen..).and_then(|rest| rest.find(text)) {
                self.seen += found + text.len();
                return;
            }
            assert!(self.read(), "`{text}` was not printed: {said}");
        }
    }

    /// The rest of a line that has begun.
    pub(crate) fn line(&mut self) -> String {
        let begun = self.seen;
        self.expect("\n");
        self.said()[begun..self.seen].trim().to_owned()
    }

    /// All output of a command that is told to end.
    pub(crate) fn stop(self) -> String {
        let pid = self.child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(told.unwrap().success());
        self.end().0
    }

    /// Closes the terminal, and waits for the exit of a command whose controlling terminal it was; returns its exit
    /// code.
    pub(crate) fn close(self) -> Option<i32> {
        let Self {
            mut child,
            terminal,
            ..
        } = self;
        drop(terminal);
        child.wait().unwrap().code()
    }

    /// All output until the last process has exited, and the exit code.
    pub(crate) fn end(mut self) -> (String, Option<i32>) {
        while self.read() {}
        (self.said(), self.child.wait().unwrap().code())
    }

    /// Reads on; false at the end.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 4096];
        let read = self.terminal.read(&mut buffer).unwrap_or(0);
        self.said.extend_from_slice(&buffer[..read]);
        read > 0
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&self.said).replace("\r\n", "\n")
    }
}

/// The program `xdg-open` of a home.
pub(crate) struct FakeBrowser {
    opened: PathBuf,
}

impl FakeBrowser {
    /// Makes `command` find it.
    pub(crate) fn new(home: &Home, command: &mut Command) -> Self {
        let opened = home.path().join("opened");
        let browser = home.path().join("xdg-open");
        let script = format!(
            "#!/bin/sh\nprintf '%s %s' $# \"$1\" > {0}.new; mv {0}.new {0}\n",
            opened.display()
        );
        fs::write(&browser, script).unwrap();
        fs::set_permissions(&browser, Permissions::from_mode(0o755)).unwrap();
        command.env("PATH", format!("{}:/usr/bin:/bin", home.path().display()));
        Self { opened }
    }

    /// Waits for the number of its arguments and the first of them.
    pub(crate) fn opened(&self) -> String {
        let deadline = Instant::now() + Duration::from_secs(600);
        while !self.opened.exists() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        fs::read_to_string(&self.opened).unwrap()
    }
}
