use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt};
use tracing::Level;

use crate::mutex::Mutex;
use crate::transport::observer::{MessageObserver, WireMessage};

/// Target of the log events that carry the standard error of child processes, a line each, at the
/// level `INFO`.
pub const STDERR_TARGET: &str = "callgate_mcp::server_stderr";

/// End of the standard error of a child.
#[derive(Debug, Default)]
pub(super) struct StderrTail(Mutex<VecDeque<u8>>);

/// Maximum bytes that are kept.
const KEPT: usize = 64 * 1024;

/// Maximum bytes that an error shows.
const SHOWN: usize = 2 * 1024;

/// Maximum bytes of a line in the log; a longer one is logged in pieces.
const LOGGED: usize = 8 * 1024;

impl StderrTail {
    /// Reads to the end of the stream, so that the child never blocks on a full pipe, and logs it.
    pub(super) async fn read(
        &self,
        mut stream: impl AsyncRead + Unpin,
        server: &str,
        observer: Option<&MessageObserver>,
    ) {
        let mut buffer = vec![0; LOGGED];
        let mut lines = LineSplitter::default();
        let log = |line: &str| {
            tracing::info!(target: STDERR_TARGET, server, "{line}");
            if let Some(observer) = observer {
                observer.observe(WireMessage::Stderr(line));
            }
        };
        while let Ok(length @ 1..) = stream.read(&mut buffer).await {
            let bytes = buffer.get(..length).unwrap_or_default();
            self.push(bytes);
            // Lines are split only where a log or an observer reads them.
            if observer.is_some() || tracing::enabled!(target: STDERR_TARGET, Level::INFO) {
                lines.push(bytes, log);
            }
        }
        lines.finish(log);
    }

    pub(super) fn text(&self) -> String {
        let mut stderr = self.0.lock();
        String::from_utf8_lossy(stderr.make_contiguous()).into_owned()
    }

    /// The last whole lines, within the limit of an error.
    pub(super) fn tail(&self) -> String {
        let text = self.text();
        let text = text.trim_end();
        let mut start = text.len().saturating_sub(SHOWN);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        let (cut, shown) = text.split_at(start);
        match shown.split_once('\n') {
            Some((_broken, whole)) if !cut.is_empty() => whole.to_owned(),
            _ => shown.to_owned(),
        }
    }

    fn push(&self, bytes: &[u8]) {
        let mut stderr = self.0.lock();
        let bytes = bytes
            .get(bytes.len().saturating_sub(KEPT)..)
            .unwrap_or_default();
        let over = (stderr.len() + bytes.len()).saturating_sub(KEPT);
        stderr.drain(..over);
        stderr.extend(bytes);
    }
}

/// Splits a stream of bytes into lines of limited length.
#[derive(Debug, Default)]
struct LineSplitter(Vec<u8>);

impl LineSplitter {
    fn push(&mut self, bytes: &[u8], mut found: impl FnMut(&str)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.0.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.0.len() >= LOGGED {
                self.finish(&mut found);
            }
        }
    }

    fn finish(&mut self, mut found: impl FnMut(&str)) {
        let line = std::mem::take(&mut self.0);
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        if !line.is_empty() {
            found(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_end_is_kept_and_only_whole_lines_are_shown() {
        let stderr = StderrTail::default();
        stderr.read(&b"one\ntwo\xff\n"[..], "s", None).await;
        assert_eq!(stderr.tail(), "one\ntwo\u{fffd}");

        let lines: String = (0..20_000)
            .map(|number| format!("line {number}\n"))
            .collect();
        stderr.read(lines.as_bytes(), "s", None).await;
        assert_eq!(stderr.text().len(), KEPT);
        assert!(stderr.text().ends_with("line 19998\nline 19999\n"));
        let tail = stderr.tail();
        assert!(
            tail.len() <= SHOWN && tail.len() > SHOWN - 20,
            "{}",
            tail.len()
        );
        assert!(tail.starts_with("line ") && tail.ends_with("\nline 19999"));
    }

    #[test]
    fn a_long_last_line_is_cut_between_characters() {
        let stderr = StderrTail::default();
        stderr.push("é".repeat(SHOWN).as_bytes());
        assert_eq!(stderr.tail(), "é".repeat(SHOWN / 2));
    }

    #[test]
    fn lines_for_the_log_have_a_limited_length() {
        let (mut lines, mut found) = (LineSplitter::default(), Vec::new());
        let mut push = |bytes: &[u8]| lines.push(bytes, |line| found.push(line.to_owned()));
        push(b"one\n\ntw");
        push(b"o\r\n");
        push(&[b'x'; LOGGED - 1]);
        push(b"yz\nrest");
        lines.finish(|line| found.push(line.to_owned()));
        let long = format!("{}yz", "x".repeat(LOGGED - 1));
        assert_eq!(found, ["one", "two", &long, "rest"]);
        // A line that never ends is not collected for ever.
        found.clear();
        for _ in 0..3 {
            lines.push(&[b'x'; LOGGED], |line| found.push(line.to_owned()));
        }
        assert_eq!(found, vec!["x".repeat(LOGGED); 3]);
    }
}
