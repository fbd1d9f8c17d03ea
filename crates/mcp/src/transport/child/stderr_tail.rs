use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::mutex::Mutex;

/// End of the standard error of a child.
#[derive(Debug, Default)]
pub(super) struct StderrTail(Mutex<VecDeque<u8>>);

/// Maximum bytes that are kept.
const KEPT: usize = 64 * 1024;

/// Maximum bytes that an error shows.
const SHOWN: usize = 2 * 1024;

impl StderrTail {
    /// Reads to the end of the stream, so that the child never blocks on a full pipe.
    pub(super) async fn read(&self, mut stream: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 8 * 1024];
        while let Ok(length @ 1..) = stream.read(&mut buffer).await {
            self.push(buffer.get(..length).unwrap_or_default());
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_end_is_kept_and_only_whole_lines_are_shown() {
        let stderr = StderrTail::default();
        stderr.read(&b"one\ntwo\xff\n"[..]).await;
        assert_eq!(stderr.tail(), "one\ntwo\u{fffd}");

        let lines: String = (0..20_000)
            .map(|number| format!("line {number}\n"))
            .collect();
        stderr.read(lines.as_bytes()).await;
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
}
