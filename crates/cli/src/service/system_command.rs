use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::output;

/// Time limit of a command of the system: a service manager that hangs must not hang this process.
const LIMIT: Duration = Duration::from_secs(60);

/// Interval of the checks for the exit of a command.
const POLL: Duration = Duration::from_millis(10);

/// Maximum bytes that are kept of what a command prints.
const MAX_SAID: u64 = 64 * 1024;

/// Runs a command of the system; its first line of text is the reason of a failure.
pub(super) fn run(words: &[String]) -> Result<(), String> {
    run_within(words, LIMIT, Stdio::null()).map(drop)
}

/// Runs a command of the system, as [`run`] does, and returns what it prints.
pub(super) fn printed(words: &[String]) -> Result<String, String> {
    run_within(words, LIMIT, Stdio::piped())
}

/// The command as it is typed in a shell.
pub(super) fn typed(words: &[String]) -> String {
    let words: Vec<_> = words.iter().map(|word| output::argument(word)).collect();
    words.join(" ")
}

/// Runs a command, and returns what it prints if `stdout` is a pipe.
fn run_within(words: &[String], limit: Duration, stdout: Stdio) -> Result<String, String> {
    let Some((program, args)) = words.split_first() else {
        return Ok(String::new());
    };
    let failed = |error: io::Error| format!("`{program}`: {error}");
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let deadline = Instant::now() + limit;
    let printed = child.stdout.take().map(read);
    let said = child.stderr.take().map(read);
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        if Instant::now() >= deadline {
            // It may have exited in the meantime.
            let _ = child.kill();
            let _ = child.wait();
            let (typed, seconds) = (typed(words), limit.as_secs());
            return Err(format!("`{typed}` did not end within {seconds} s"));
        }
        thread::sleep(POLL);
    };
    let text = |reader: Option<mpsc::Receiver<Vec<u8>>>| {
        let left = deadline.saturating_duration_since(Instant::now());
        let bytes = reader.and_then(|reader| reader.recv_timeout(left).ok());
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    };
    if status.success() {
        return Ok(text(printed));
    }
    let said = text(said);
    let line = said.lines().find(|line| !line.trim().is_empty());
    let line = line.map_or_else(|| status.to_string(), |line| line.trim().to_owned());
    Err(format!("`{}` failed: {line}", typed(words)))
}

/// Reads a stream in a thread: a process that the command leaves behind may keep it open.
fn read(mut stream: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, reader) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stream.by_ref().take(MAX_SAID).read_to_end(&mut text);
        let _ = sender.send(text);
        let _ = io::copy(&mut stream, &mut io::sink());
    });
    reader
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_command_that_hangs_is_ended_with_a_reason() {
        let hangs = words(&["sleep", "3600"]);
        assert_eq!(
            run_within(&hangs, Duration::from_secs(1), Stdio::null()),
            Err("`sleep 3600` did not end within 1 s".to_owned())
        );
    }

    #[test]
    fn the_first_line_of_a_failure_is_its_reason() {
        let check = |script: &str, expect: Result<(), &str>| {
            let found = run(&words(&["sh", "-c", script]));
            assert_eq!(found, expect.map_err(str::to_owned), "{script}");
        };
        check("exit 0", Ok(()));
        check(
            "echo >&2; echo no >&2; exit 3",
            Err("`sh -c 'echo >&2; echo no >&2; exit 3'` failed: no"),
        );
        check("exit 3", Err("`sh -c 'exit 3'` failed: exit status: 3"));
    }

    #[test]
    fn what_a_command_prints_is_returned() {
        let found = printed(&words(&["sh", "-c", "echo MainPID=7; echo no >&2"]));
        assert_eq!(found, Ok("MainPID=7\n".to_owned()));
    }
}
