//! Headers that a command prints: a JSON object with a text for each name.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

use crate::config::secret_text::hidden_in_command;

/// Time that the command has.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Maximum bytes of its output.
const MAX_OUTPUT: u64 = 64 * 1024;

/// Runs the command, which is ended if the future is dropped, and returns the headers that it prints.
///
/// Errors never repeat the output, which holds secrets.
///
/// # Errors
/// The command fails, takes too long, prints too much or something else than headers.
pub(super) async fn run(
    command: &str,
    directory: Option<&Path>,
) -> anyhow::Result<BTreeMap<String, String>> {
    run_within(command, directory, TIME_LIMIT)
        .await
        .with_context(|| {
            let command = hidden_in_command(command);
            format!("the command of `headersHelper`, `{command}`, failed")
        })
}

async fn run_within(
    command: &str,
    directory: Option<&Path>,
    limit: Duration,
) -> anyhow::Result<BTreeMap<String, String>> {
    let words = shlex::split(command).unwrap_or_default();
    let Some((program, args)) = words.split_first() else {
        bail!("it is not a command line");
    };
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null());
    command.stdout(Stdio::piped()).kill_on_drop(true);
    if let Some(directory) = directory {
        command.current_dir(directory);
    }
    let mut child = command.spawn().context("it cannot be started")?;
    let stdout = child.stdout.take().context("it has no output")?;
    let work = async {
        let mut printed = Vec::new();
        let mut stdout = stdout.take(MAX_OUTPUT + 1);
        stdout.read_to_end(&mut printed).await?;
        if printed.len() as u64 > MAX_OUTPUT {
            bail!("it printed more than {MAX_OUTPUT} bytes");
        }
        Ok((printed, child.wait().await?))
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

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    async fn outcome(script: &str, limit: Duration) -> Result<BTreeMap<String, String>, String> {
        let command = format!("sh -c {}", shlex::try_quote(script).unwrap());
        let outcome = run_within(&command, None, limit).await;
        outcome.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn headers_are_what_the_command_prints() {
        let long = Duration::from_secs(600);
        let headers = BTreeMap::from([("X-Key".to_owned(), "1".to_owned())]);
        assert_eq!(outcome(r#"echo '{"X-Key":"1"}'"#, long).await, Ok(headers));
        for (script, error) in [
            ("echo secret", "it did not print a JSON object of headers"),
            ("exit 3", "it ended with exit status: 3"),
            ("yes", "it printed more than 65536 bytes"),
        ] {
            assert_eq!(outcome(script, long).await, Err(error.to_owned()));
        }
        let error = run_within("", None, long).await.unwrap_err();
        assert_eq!(error.to_string(), "it is not a command line");
    }

    #[tokio::test]
    async fn a_command_that_hangs_is_ended() {
        assert_eq!(
            outcome("exec sleep 3600", Duration::from_millis(10)).await,
            Err("it took more than 10ms".to_owned())
        );
    }
}
