use std::process::{Command, Stdio};

use anyhow::Result;

use crate::process;
use crate::repo::Repo;
use crate::step::Outcome;

/// Debian packages with the programs below.
const PACKAGES: [&str; 2] = ["dbus", "gnome-keyring"];

/// Programs that the tests start.
const PROGRAMS: [&str; 3] = ["dbus-daemon", "dbus-send", "gnome-keyring-daemon"];

/// Tests sealed logins with GNOME Keyring, on a bus of its own.
///
/// A missing keyring is installed if that is possible here: by root, on Debian. Otherwise the tests are skipped.
pub(crate) fn run(repo: &Repo) -> Result<Outcome> {
    if let Some(missing) = missing()
        && let Err(error) = install()
    {
        let packages = PACKAGES.join(" and ");
        let reason = format!("`{missing}` is missing; install {packages} ({error:#})");
        return Ok(Outcome::Skipped(reason));
    }
    let mut test = repo.cargo(&["test", "-p", "callgate", "--test", "it", "keychain::"]);
    process::run(test.args(["--", "--include-ignored"]))?;
    Ok(Outcome::Passed)
}

fn missing() -> Option<&'static str> {
    let runs = |program: &str| {
        let mut command = Command::new(program);
        let command = command.arg("--version").stdin(Stdio::null());
        command.output().is_ok()
    };
    PROGRAMS.into_iter().find(|program| !runs(program))
}

fn install() -> Result<()> {
    let mut apt = Command::new("apt-get");
    apt.args(["install", "--yes", "--no-install-recommends"])
        .args(PACKAGES)
        .env("DEBIAN_FRONTEND", "noninteractive");
    println!("installing {}", PACKAGES.join(", "));
    process::capture(&mut apt).map(drop)
}
