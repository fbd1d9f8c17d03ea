//! Headers that a command prints: a JSON object with a text for each name.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::config::resolve::HeadersHelper;
use crate::config::secret_text::hidden_in_command;

/// Time that the command has.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Maximum bytes of its output.
const MAX_OUTPUT: u64 = 64 * 1024;

/// Runs the command and returns the headers that it prints. If the future is dropped, the command is ended with all
/// processes of its group; on Windows only the shell ends.
///
/// Errors never repeat the output and the values of variables, which are secrets.
///
/// # Errors
/// The command fails, takes too long, prints too much or something else than headers.
pub(super) async fn run(helper: &HeadersHelper) -> anyhow::Result<BTreeMap<String, String>> {
    run_within(helper.command.as_str(), &helper.directory, TIME_LIMIT)
        .await
        .with_context(|| {
            let command = hidden_in_command(helper.written.as_str());
            format!("the command of `headersHelper`, `{command}`, failed")
        })
}

/// A running command in a process group of its own, which is killed when this is dropped before the command has ended.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // Until its exit is collected, the id of the shell, and so that of its group, is no other's.
        #[cfg(unix)]
        if let Some(id) = self.0.id().and_then(|id| i32::try_from(id).ok())
            && let Some(group) = rustix::process::Pid::from_raw(id)
        {
            // It fails only if nothing of the group is left.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

async fn run_within(
    command: &str,
    directory: &Path,
    limit: Duration,
) -> anyhow::Result<BTreeMap<String, String>> {
    if command.trim().is_empty() {
        bail!("it is empty");
    }
    let mut command = shell(command);
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).kill_on_drop(true);
    command.current_dir(directory);
    #[cfg(unix)]
    command.process_group(0);
    let mut group = Group(command.spawn().context("it cannot be started")?);
    let stdout = group.0.stdout.take().context("it has no output")?;
    let work = async {
        let mut printed = Vec::new();
        let mut stdout = stdout.take(MAX_OUTPUT + 1);
        stdout.read_to_end(&mut printed).await?;
        if printed.len() as u64 > MAX_OUTPUT {
            bail!("it printed more than {MAX_OUTPUT} bytes");
        }
        Ok((printed, group.0.wait().await?))
    };
    let (printed, status) = timeout(limit, work)
        .await
        .map_err(|_| anyhow!("it took more than {limit:?}"))??;
    if !status.success() {
        bail!("it ended with {status}");
    }
    serde_json::from_slice(&printed)
        .map_err(|_| anyhow!("it did not print a JSON object of headers"))
}

/// The shell of the system with a command for it, as Claude Code runs this key: `$(…)` and pipes work unedited.
#[cfg(not(windows))]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command);
    shell
}

#[cfg(windows)]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("cmd");
    // The shell reads the quotes itself.
    shell.arg("/C").raw_arg(command);
    shell
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs::File;
    use std::io::Read;

    use super::*;

    async fn outcome(script: &str, limit: Duration) -> Result<BTreeMap<String, String>, String> {
        let outcome = run_within(script, Path::new("."), limit).await;
        outcome.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn headers_are_what_the_command_prints() {
        let long = Duration::from_secs(600);
        let headers = BTreeMap::from([("X-Key".to_owned(), "1".to_owned())]);
        for script in [
            r#"echo '{"X-Key":"1"}'"#,
            r#"printf '{"X-Key":"%s"}' "$(echo 1)""#,
            r#"echo '{"X-Key":"0"}' | tr 0 1"#,
        ] {
            assert_eq!(outcome(script, long).await, Ok(headers.clone()), "{script}");
        }
        for (script, error) in [
            ("echo secret", "it did not print a JSON object of headers"),
            ("exit 3", "it ended with exit status: 3"),
            ("yes", "it printed more than 65536 bytes"),
        ] {
            assert_eq!(outcome(script, long).await, Err(error.to_owned()));
        }
        let error = outcome(" ", long).await.unwrap_err();
        assert_eq!(error, "it is empty");
    }

    #[tokio::test]
    async fn a_command_that_hangs_is_ended() {
        assert_eq!(
            outcome("exec sleep 3600", Duration::from_millis(10)).await,
            Err("it took more than 10ms".to_owned())
        );
    }

    #[tokio::test]
    async fn all_parts_of_a_pipeline_are_ended() {
        let directory = tempfile::tempdir().unwrap();
        let fifo = directory.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let path = fifo.display();
        let part = format!("{{ echo started; sleep 20; echo survived; }} >{path}");
        let script = format!("{part} | {part}");
        let started = tokio::task::spawn_blocking(move || {
            let mut fifo = File::open(fifo).unwrap();
            let mut lines = [0; 2 * "started\n".len()];
            fifo.read_exact(&mut lines).unwrap();
            (lines, fifo)
        });
        // A time limit drops its work in the same way.
        let (lines, mut fifo) = tokio::select! {
            ended = outcome(&script, Duration::from_secs(600)) => panic!("{ended:?}"),
            started = started => started.unwrap(),
        };
        assert_eq!(lines, *b"started\nstarted\n");
        let mut rest = String::new();
        fifo.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "a part of the pipeline lives on");
    }
}
