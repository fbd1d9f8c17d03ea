//! Other processes for the tests: this test binary itself, started again with a part to play.
//!
//! Programs of their own would have to be `[[bin]]`s of the library, which every user's build makes.
//! A test binary has no `main` to branch in, so the other process runs one test, [`run`], and nothing
//! else. [`run`] plays the part that a variable of the environment names, and passes without one.
//! A part reads its standard input and writes to its standard error, because the test harness writes
//! to the standard output.

use std::process::{Command, Stdio};

mod caller;
mod saver;

/// Names the part and its arguments, one to a line.
const PART: &str = "CALLGATE_OAUTH_TEST_PART";

/// Another process of this test binary that plays a part; its lines come on its standard error.
pub(crate) fn command(part: &[&str]) -> Command {
    let program = std::env::current_exe().expect("a process has a program");
    let mut command = Command::new(program);
    command
        .args(["--exact", "peer::run", "--nocapture"])
        .env(PART, part.join("\n"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

#[test]
fn run() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    let part: Vec<&str> = part.lines().collect();
    match part.as_slice() {
        ["save-for-ever", path] => saver::save_for_ever(path),
        ["move-for-ever", path] => saver::move_for_ever(path),
        ["save", path, name, times] => saver::save(path, name, times),
        ["refresh", path, seen] => saver::refresh(path, seen),
        ["call", store, server, tasks, seconds] => caller::call(store, server, tasks, seconds),
        _ => panic!("there is no part {part:?}"),
    }
}
