use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use std::{str, thread};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::expected::logged_in;
use crate::fixture::Home;
use crate::provider::{self, Provider, Settings};

/// Starts a command on a terminal of its own.
fn on_terminal(command: &mut Command) -> (Child, File) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
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
    command.stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::null());
    command.stderr(std::process::Stdio::null());
    (child, terminal.into())
}

/// All output of a terminal until its last process has exited.
fn read_all(mut terminal: File) -> String {
    let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = terminal.read(&mut buffer) {
        text.extend_from_slice(&buffer[..read]);
    }
    str::from_utf8(&text).unwrap().replace("\r\n", "\n")
}

#[test]
fn a_browser_is_opened_on_a_terminal_with_the_page_as_its_only_argument() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let opened = home.path().join("opened");
    let browser = home.path().join("xdg-open");
    let script = format!(
        "#!/bin/sh\nprintf '%s %s' $# \"$1\" > {0}.new; mv {0}.new {0}\n",
        opened.display()
    );
    fs::write(&browser, script).unwrap();
    fs::set_permissions(&browser, Permissions::from_mode(0o755)).unwrap();
    let mut command = home.command(&["auth", &provider.url, "--callback-port", "0"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", home.path().display()));
    let (mut child, terminal) = on_terminal(&mut command);

    let deadline = Instant::now() + Duration::from_secs(600);
    while !opened.exists() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(5));
    }
    let opened = fs::read_to_string(opened).unwrap();
    let page = opened.strip_prefix("1 ").unwrap();
    let (back, _) = provider::get(page);
    provider::get(&back.unwrap());
    assert!(child.wait().unwrap().success());
    let asked = "opening a browser to log in; if none opens, open this page in one:\n\n  PAGE\n\n\
        hint: without a browser on this machine, run the same command with --no-browser\n";
    assert_eq!(
        read_all(terminal).replace(page, "PAGE"),
        format!("{asked}{}", logged_in(&provider, "read"))
    );
}
