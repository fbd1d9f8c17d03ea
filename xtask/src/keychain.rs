use anyhow::Result;

use crate::debian::Programs;
use crate::process;
use crate::repo::Repo;
use crate::step::Outcome;

const KEYRING: Programs = Programs {
    programs: &["dbus-daemon", "dbus-send", "gnome-keyring-daemon"],
    packages: &["dbus", "gnome-keyring"],
};

/// Tests sealed logins with GNOME Keyring, on a bus of its own. Without it the tests are skipped.
pub(crate) fn run(repo: &Repo) -> Result<Outcome> {
    if let Some(reason) = KEYRING.provide() {
        return Ok(Outcome::Skipped(reason));
    }
    let mut test = repo.cargo(&["test", "-p", "callgate", "--test", "it", "keychain::"]);
    process::run(test.args(["--", "--include-ignored"]))?;
    Ok(Outcome::Passed)
}
