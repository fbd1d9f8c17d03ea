//! Programs that are started in the place of a browser.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// Appends the arguments as a line to a file beside the program.
pub(crate) fn record(program: &str, args: &[&str]) {
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(format!("{program}.log"))
        .expect("the directory can be written");
    writeln!(file, "{args:?}").expect("the file can be written");
}

/// Runs until the test hangs up.
pub(crate) fn stay(program: &str) {
    let mut test = UnixStream::connect(format!("{program}.socket")).expect("the test listens");
    let _ = test.read(&mut [0]);
}
